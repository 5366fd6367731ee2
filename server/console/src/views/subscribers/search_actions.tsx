import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { CustomField } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { canWrite } from "../../session.ts";
import { t } from "../../texts.ts";
import { ExportDialog } from "./export_dialog.tsx";
import { Criteria } from "./group.tsx";
import type { Query, SubscriberList } from "./list.ts";
import { filterOf } from "./selection.ts";

/** What can be done with all who match a search: save it as a segment, or export them. */
export function SearchActions({
  list,
  query,
  fields,
  columns,
  onSaved,
}: {
  /** Null while the search is wrong, or loads. */
  list: SubscriberList | null;
  query: Query;
  fields: CustomField[];
  columns: string[];
  onSaved: () => void;
}) {
  const action = useSignal<"save" | "export" | null>(null);
  const close = () => (action.value = null);
  // Segments have a filter, and no search for the beginning of a name.
  const filter = query.q || query.segmentId ? "" : filterOf(query);
  return (
    <>
      {canWrite.value && (
        // Without a filter it keeps its place, so that the buttons next to it do not move.
        <button
          type="button"
          class="save"
          aria-label={t("segment.saveTitle")}
          title={t("segment.saveTitle")}
          disabled={!list || !filter}
          onClick={() => (action.value = "save")}
        >
          <span>{t("save")}</span>
          <span>{t("segment.saveTitle")}</span>
        </button>
      )}
      <button
        type="button"
        class="export"
        aria-label={t("export")}
        title={t("export")}
        disabled={!list?.total}
        onClick={() => (action.value = "export")}
      >
        <Icon name="download" />
        <span>{t("export")}</span>
      </button>
      {action.value === "save" && <SaveDialog query={query} filter={filter} onClose={close} onSaved={onSaved} />}
      {action.value === "export" && list && (
        <ExportDialog query={list.query} total={list.total} fields={fields} shown={columns} onClose={close} />
      )}
    </>
  );
}

function SaveDialog({
  query,
  filter,
  onClose,
  onSaved,
}: {
  query: Query;
  filter: string;
  onClose: () => void;
  onSaved: () => void;
}) {
  const name = useSignal("");
  return (
    <FormDialog
      title={t("segment.saveTitle")}
      verb={t("save")}
      disabled={!name.value.trim()}
      onClose={onClose}
      onSubmit={async () => {
        const { segment } = await call("POST /api/segments", { body: { name: name.value.trim(), filter } });
        notify(t("segment.saved", { name: segment.name }));
        onSaved();
      }}
    >
      <p>
        <Criteria query={query} />
      </p>
      <label class="field">
        {t("segment.name")}
        <input
          autofocus
          required
          dir="auto"
          autocomplete="off"
          maxLength={100}
          value={name.value}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
    </FormDialog>
  );
}
