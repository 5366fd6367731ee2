import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect } from "preact/hooks";

export interface Option {
  /** Identifies the option among the others. */
  key: string;
  text: ComponentChildren;
  hint?: ComponentChildren;
  run: () => void;
}

/** A list of options for a typed text, below its input, which keeps the focus: arrow keys choose, Enter runs one. */
export function useListbox(
  options: readonly Option[],
  typed: string,
  { label, startsActive = true }: { label: string; startsActive?: boolean },
) {
  const id = useId();
  const start = startsActive ? 0 : -1;
  // The option that was chosen for a text: it stays when others arrive.
  const active = useSignal<{ key?: string | undefined; typed: string } | null>(null);
  const key = active.value?.typed === typed ? active.value.key : undefined;
  const found = options.findIndex((each) => each.key === key);
  const at = found >= 0 ? found : Math.min(start, options.length - 1);
  useLayoutEffect(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);

  /** Returns whether the key was handled. */
  function onKeyDown(event: KeyboardEvent): boolean {
    const last = options.length - 1;
    if (last < 0 || event.isComposing) return false;
    const to = { ArrowDown: at < last ? at + 1 : start, ArrowUp: at > start ? at - 1 : last }[event.key];
    const chosen = event.key === "Enter" ? options[at] : undefined;
    if (to === undefined && !chosen) return false;
    active.value = to === undefined ? null : { key: options[to]?.key, typed };
    event.preventDefault();
    chosen?.run();
    return true;
  }

  const input = {
    role: "combobox" as const,
    autocomplete: "off",
    "aria-autocomplete": "list" as const,
    "aria-expanded": options.length > 0,
    "aria-controls": options.length ? id : undefined,
    "aria-activedescendant": at >= 0 && options.length ? `${id}-${at}` : undefined,
  };
  const list = options.length > 0 && (
    <ul id={id} class="listbox" role="listbox" aria-label={label}>
      {options.map((option, index) => (
        <li
          key={option.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          // The input keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => option.run()}
        >
          <span>{option.text}</span>
          {option.hint && <small>{option.hint}</small>}
        </li>
      ))}
    </ul>
  );
  return { input, list, onKeyDown };
}
