import { type Signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { useShortcuts } from "../../keys.ts";
import { t } from "../../texts.ts";
import { partWords } from "./condition_words.ts";
import { conditionOf, type FilterField } from "./conditions.ts";
import { FilterEditor } from "./filter_editor.tsx";
import { joined, partsOf } from "./filter_parts.ts";
import { filterError } from "./search_box.tsx";
import { columnOf } from "./search_text.ts";

/** The part of the filter that is changed, and the element that the editor is next to. */
interface Edited {
  /** -1 for a new part. */
  index: number;
  anchor: HTMLElement | null;
}

export function useFilterEditor(): Signal<Edited | null> {
  return useSignal<Edited | null>(null);
}

/** The button that adds a part to the filter. */
export function AddFilter({ edited }: { edited: Signal<Edited | null> }) {
  return (
    <button
      id="add-filter"
      type="button"
      aria-haspopup="dialog"
      aria-label={t("filter.add")}
      title={t("filter.add")}
      onClick={(event) => (edited.value = { index: -1, anchor: event.currentTarget })}
    >
      <Icon name="filter" />
      <span>{t("filter.short")}</span>
    </button>
  );
}

/** The parts of a filter, each of which can be changed and removed. */
export function FilterChips({
  filter,
  q,
  fields,
  error,
  edited,
  onFilter,
  onSearch,
}: {
  filter: string;
  /** A search for the beginning of a text next to the filter. */
  q: string;
  fields: readonly FilterField[];
  /** Why the filter is wrong: the part with the column that the server names looks so. */
  error: unknown;
  edited: Signal<Edited | null>;
  onFilter: (filter: string, options: { replace: boolean }) => void;
  onSearch: (q: string) => void;
}) {
  const parts = partsOf(filter);
  const wrong = columnOf(filterError(error)?.message ?? "") - 1;
  let end = 0;
  const isWrong = parts?.map((part) => {
    const start = filter.indexOf(part, end);
    end = start + part.length;
    // Parentheses that were added are not in the filter.
    return wrong >= 0 && start <= wrong && wrong < end;
  });
  const current = edited.value;
  // The filter without what the editor, which applies a value while it is typed, has changed.
  const before = useRef(filter);
  const applied = useRef(filter);
  // Browser history can change the filter while the editor is open.
  if (!current || ![before.current, applied.current].includes(filter)) before.current = filter;
  useShortcuts([
    {
      keys: ["f"],
      text: "filter.add",
      run: () => (edited.value = { index: -1, anchor: document.getElementById("add-filter") }),
    },
  ]);

  function change(index: number, part: string, from: string): void {
    const changed = [...(partsOf(from) ?? [`(${from})`])];
    if (index < 0) changed.push(part);
    else changed.splice(index, 1, ...(part ? [part] : []));
    applied.current = joined(changed);
    onFilter(applied.current, { replace: filter !== from });
  }

  return (
    <>
      {(Boolean(parts?.length) || (filter && q)) && (
        <ul class="chips" aria-label={t("filter.label")}>
          {filter && q && (
            <Chip words={["", t("filter.quote", { text: q })]} onRemove={() => onSearch("")} />
          )}
          {parts?.map((part, index) => (
            <Chip
              key={index}
              words={partWords(part, fields)}
              isWrong={isWrong?.[index]}
              {...(conditionOf(part, fields)
                ? { onEdit: (anchor: HTMLElement) => (edited.value = { index, anchor }) }
                : {})}
              onRemove={() => change(index, "", filter)}
            />
          ))}
        </ul>
      )}
      {current && (
        <FilterEditor
          key={current.index}
          fields={fields}
          condition={conditionOf(partsOf(before.current)?.[current.index] ?? "", fields)}
          anchor={current.anchor}
          onApply={(part) => change(current.index, part, before.current)}
          onCancel={() => filter !== before.current && onFilter(before.current, { replace: true })}
          onClose={() => (edited.value = null)}
        />
      )}
    </>
  );
}

function Chip({
  words: [title, rest],
  isWrong,
  onEdit,
  onRemove,
}: {
  words: [string, string];
  isWrong?: boolean | undefined;
  onEdit?: (anchor: HTMLElement) => void;
  onRemove: () => void;
}) {
  const text = (
    <bdi class="cut" dir="auto" title={`${title} ${rest}`}>
      {title && <strong>{title}</strong>} {rest}
    </bdi>
  );
  return (
    <li class={isWrong ? "chip wrong" : "chip"}>
      {onEdit ? (
        <button type="button" class="plain" aria-haspopup="dialog" onClick={(event) => onEdit(event.currentTarget)}>
          {text}
        </button>
      ) : (
        <span>{text}</span>
      )}
      <button
        type="button"
        class="plain"
        aria-label={t("filter.remove", { condition: `${title} ${rest}`.trim() })}
        onClick={() => {
          // The button is removed with its chip.
          document.getElementById("add-filter")?.focus();
          onRemove();
        }}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
