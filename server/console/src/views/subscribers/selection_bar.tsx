import { type Signal, useSignal } from "@preact/signals";
import { announce } from "../../announce.ts";
import type { CustomField } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { copy } from "../../copying.ts";
import { useShortcuts } from "../../keys.ts";
import { canWrite } from "../../session.ts";
import { number, plural, t } from "../../texts.ts";
import { DeleteDialog, FieldDialog, StatusDialog, TagDialog } from "./batch_dialogs.tsx";
import { ExportDialog } from "./export_dialog.tsx";
import { type Group, Who } from "./group.tsx";
import type { SubscriberList } from "./list.ts";
import { Selection } from "./selection.ts";

type Action = "tag" | "untag" | "status" | "field" | "export" | "delete";
const ACTIONS: Action[] = ["tag", "untag", "status", "field", "export", "delete"];

/** Moves the focus to the first action for the selection; on a phone, to their menu. Returns whether there is one. */
export function focusSelectionActions(): boolean {
  const all = document.querySelectorAll<HTMLElement>(".selection :is(.buttons, .few) > button");
  const first = [...all].find((each) => each.offsetParent);
  first?.focus();
  return first !== undefined;
}

/** Which rows are selected, and what can be done with them. */
export function SelectionBar({
  list,
  selected,
  fields,
  columns,
  hasPeople,
  onRange,
  selectActive,
}: {
  /** Null while the search is wrong, or loads: nothing can be selected then. */
  list: SubscriberList | null;
  selected: Signal<Selection>;
  fields: CustomField[];
  columns: string[];
  /** Whether there are people for the keys: the selected ones, or that of the row with the focus. */
  hasPeople: () => boolean;
  /** The next row is the other end of a range. */
  onRange: () => void;
  /** Selects the row with the focus. */
  selectActive: () => void;
}) {
  const action = useSignal<Action | null>(null);
  const selection = selected.value;

  function open(wanted: Action): void {
    if (!list || (!canWrite.value && wanted !== "export")) return;
    if (selected.value.isEmpty) selectActive();
    if (!selected.value.isEmpty) action.value = wanted;
  }

  function selectAll(): void {
    selected.value = Selection.ALL;
    announce(plural("selection.count", list?.total ?? 0));
  }

  useShortcuts([
    { keys: ["t"], text: "keys.tagSelected", writes: true, when: hasPeople, run: () => open("tag") },
    { keys: ["u"], text: "keys.statusSelected", writes: true, when: hasPeople, run: () => open("status") },
  ]);

  if (!list || selection.isEmpty) return null;
  const size = selection.count(list.total);
  const chosen = selection.isAll ? [] : list.loaded().filter((each) => selection.has(each.id));
  const complained = chosen.filter((each) => each.status === "COMPLAINED").map((each) => each.id);
  const emails = chosen.map((each) => each.email);
  const group: Group = { query: list.query, selection, size, emails, complained };
  const actions = ACTIONS.filter((each) => canWrite.value || each === "export");
  const buttons = actions.map((each) => (
    <button key={each} type="button" class={each === "delete" ? "danger" : ""} onClick={() => open(each)}>
      {t(`batch.action.${each}`)}
    </button>
  ));
  const copy = !selection.isAll && <CopyAddresses emails={emails} />;
  const shown = action.value;
  function close(): void {
    // A key can open the next dialog before the browser reports that this one was closed.
    if (action.value === shown) action.value = null;
  }
  const common = { group, onClose: close, onStart: () => (selected.value = Selection.NONE) };
  return (
    <>
      <div class={selection.isAll ? "selection all" : "selection"} role="toolbar" aria-label={t("selection.title")}>
        <div>
          <strong>{plural("selection.count", size)}</strong> {selection.isAll && <Who group={group} />}
        </div>
        {!selection.isAll && size < list.total && (
          <button type="button" class="link" onClick={selectAll}>
            {t("selection.selectAll", { count: number(list.total) })}
          </button>
        )}
        <span class="buttons">
          {buttons}
          {copy}
        </span>
        <span class="few">
          <Menu label={t("selection.actions")}>
            <button type="button" onClick={onRange}>
              {t("selection.range")}
            </button>
            {buttons}
            {copy}
          </Menu>
        </span>
        <button type="button" class="plain" onClick={() => (selected.value = Selection.NONE)}>
          {t("selection.clear")}
        </button>
      </div>
      {(action.value === "tag" || action.value === "untag") && <TagDialog kind={action.value} {...common} />}
      {action.value === "status" && <StatusDialog {...common} />}
      {action.value === "field" && <FieldDialog {...common} fields={fields} />}
      {action.value === "delete" && <DeleteDialog {...common} />}
      {action.value === "export" && (
        <ExportDialog
          query={list.query}
          total={list.total}
          group={group}
          fields={fields}
          shown={columns}
          onClose={close}
        />
      )}
    </>
  );
}

function CopyAddresses({ emails }: { emails: string[] }) {
  return (
    <button
      type="button"
      class="plain"
      onClick={() => void copy(emails.join("\n"), plural("selection.copied", emails.length))}
    >
      <Icon name="copy" />
      {t("selection.copy")}
    </button>
  );
}
