import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { notify } from "../announce.ts";
import { call } from "../api/client.ts";
import type { CustomField } from "../api/types.ts";
import { CopyButton } from "../components/copy_button.tsx";
import { FormDialog, textOf } from "../components/form_dialog.tsx";
import { Part } from "../components/part.tsx";
import { TextField } from "../components/text_field.tsx";
import { UsedBy, UsesLost } from "../components/used_by.tsx";
import { useLoaded } from "../load.ts";
import { href } from "../router.ts";
import { canWrite, session } from "../session.ts";
import { named, number, parts, plural, t } from "../texts.ts";
import { AttributeTabs, RowMenu } from "./attributes/parts.tsx";

const TYPES = ["TEXT", "NUMBER", "BOOLEAN", "DATE"] as const;
// The maximum of one page, and the default limit of an account.
const LIMIT = 100;

type Open = { field?: CustomField; what: "edit" | "delete" };

/** The number of people with a value of each field by its key, which are counted one after another. */
function useTotals(fields: CustomField[] | undefined): ReadonlyMap<string, number | null> {
  const totals = useSignal<ReadonlyMap<string, number | null>>(new Map());
  useLayoutEffect(() => {
    const request = new AbortController();
    const { signal } = request;
    async function count(): Promise<void> {
      for (const { key } of fields ?? []) {
        const total = await call("GET /api/statistics", { query: withValue(key), signal }).then(
          (found) => found.total,
          () => null,
        );
        if (signal.aborted) return;
        totals.value = new Map([...totals.value, [key, total]]);
      }
    }
    void count();
    return () => request.abort();
  }, [fields]);
  return totals.value;
}

function count(total: number | null | undefined) {
  if (total === undefined) return <span class="count skeleton" />;
  return total === null ? "–" : number(total);
}

/** Returns the parameters for the people with a value. */
function withValue(key: string): { filter: string } {
  return { filter: `customFields.${key}:*` };
}

/** The custom fields with their types, fallbacks and merge tags. */
export function Fields() {
  const open = useSignal<Open | null>(null);
  const loaded = useLoaded(async (signal) => {
    const query = { limit: LIMIT, include: ["USED_BY" as const] };
    return (await call("GET /api/custom-fields", { query, signal })).customFields;
  });
  const totals = useTotals(loaded.data);
  const close = () => (open.value = null);
  // The server refuses changes of fields until then.
  const isVerified = session.value?.account.emailVerified;
  const mayChange = canWrite.value && isVerified;

  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("fields.title")}</h1>
        {mayChange && (
          <button type="button" class="main" onClick={() => (open.value = { what: "edit" })}>
            {t("field.new")}
          </button>
        )}
      </header>
      <AttributeTabs current="fields" />
      {canWrite.value && !isVerified && <p class="warning">{t("error.EmailNotVerified")}</p>}
      <Part of={loaded} bars={6}>
        {(fields) =>
          fields.length === 0 ? (
            <p class="hint">{t("fields.none")}</p>
          ) : (
            <table class="table records">
              <thead>
                <tr>
                  <th>{t("column.name")}</th>
                  <th>{t("field.type")}</th>
                  <th class="number">{t("people")}</th>
                  <th class="wide">{t("field.fallback")}</th>
                  <th class="wide">{t("usedBy")}</th>
                  <th>
                    <span class="unseen">{t("actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {fields.map((field) => (
                  <tr key={field.id}>
                    <th scope="row" class="grow">
                      <a
                        class="cut"
                        href={href(`/subscribers?filter=${encodeURIComponent(withValue(field.key).filter)}`)}
                      >
                        <bdi dir="auto">{field.label}</bdi>
                      </a>
                      <code class="cut muted" title={field.mergeTag}>
                        {field.mergeTag}
                      </code>
                    </th>
                    <td>{named("dataType", field.dataType)}</td>
                    <td class="number">
                      {count(totals.get(field.key))}
                    </td>
                    <td class="wide short">
                      <bdi class="cut" dir="auto" title={field.fallback}>
                        {field.fallback}
                      </bdi>
                    </td>
                    <td class="wide">
                      <UsedBy uses={field.usedBy} />
                    </td>
                    <td class="number">
                      <CopyButton text={field.mergeTag} title={t("field.copy", { name: field.label })} />
                      {mayChange && <RowMenu name={field.label} onOpen={(what) => (open.value = { field, what })} />}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Part>
      {open.value?.what === "edit" && <EditField field={open.value.field} onClose={close} onSaved={loaded.reload} />}
      {open.value?.what === "delete" && open.value.field && (
        <DeleteField field={open.value.field} onClose={close} onDeleted={loaded.reload} />
      )}
    </div>
  );
}

function EditField({
  field,
  onClose,
  onSaved,
}: {
  field: CustomField | undefined;
  onClose: () => void;
  onSaved: () => void;
}) {
  return (
    <FormDialog
      title={t(field ? "field.rename" : "field.new")}
      verb={t("save")}
      onClose={onClose}
      onSubmit={async (form) => {
        const body = { label: textOf(form, "label"), fallback: String(form.get("fallback") ?? "") };
        const dataType = textOf(form, "dataType") as CustomField["dataType"];
        if (field) await call("PATCH /api/custom-fields/{id}", { path: { id: field.id }, body });
        else await call("POST /api/custom-fields", { body: { ...body, dataType } });
        notify(t("saved"));
        onSaved();
      }}
    >
      <TextField label={t("column.name")} name="label" max={80} value={field?.label} />
      {field ? (
        <p class="hint">{parts("field.renameText", { tag: <code>{field.mergeTag}</code> })}</p>
      ) : (
        <label class="field">
          {t("field.type")}
          <select name="dataType">
            {TYPES.map((type) => (
              <option key={type} value={type}>
                {named("dataType", type)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        {t("field.fallback")}
        <input name="fallback" maxLength={1000} dir="auto" autocomplete="off" defaultValue={field?.fallback ?? ""} />
        <small>{t("field.fallbackText")}</small>
      </label>
    </FormDialog>
  );
}

function DeleteField({
  field,
  onClose,
  onDeleted,
}: {
  field: CustomField;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const total = useLoaded(async (signal) => {
    return (await call("GET /api/statistics", { query: withValue(field.key), signal })).total;
  });
  return (
    <FormDialog
      danger
      title={parts("field.delete", { name: <bdi dir="auto">{field.label}</bdi> })}
      verb={t("field.deleteAction")}
      onClose={onClose}
      onSubmit={async () => {
        const query = { force: Boolean(field.usedBy?.some((use) => use.type === "SEGMENT")) };
        await call("DELETE /api/custom-fields/{id}", { path: { id: field.id }, query });
        notify(t("deleted"));
        onDeleted();
      }}
    >
      <Part of={total} bars={1}>
        {(count) => <p>{plural("field.deleteText", count)}</p>}
      </Part>
      <UsesLost uses={field.usedBy} />
    </FormDialog>
  );
}
