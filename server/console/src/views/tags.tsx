import { useSignal } from "@preact/signals";
import { notify } from "../announce.ts";
import { call } from "../api/client.ts";
import type { Tag } from "../api/types.ts";
import { FormDialog, textOf } from "../components/form_dialog.tsx";
import { Part } from "../components/part.tsx";
import { TextField } from "../components/text_field.tsx";
import { UsedBy, UsesLost } from "../components/used_by.tsx";
import { useLoaded } from "../load.ts";
import { pages } from "../pages.ts";
import { href } from "../router.ts";
import { canWrite } from "../session.ts";
import { number, parts, plural, t } from "../texts.ts";
import { AttributeTabs, RowMenu } from "./attributes/parts.tsx";

type Open = { tag?: Tag; what: "edit" | "delete" };

/** The tags with the number of people, and what uses them. */
export function Tags() {
  const open = useSignal<Open | null>(null);
  const loaded = useLoaded((signal) =>
    pages(async (query) => {
      const response = await call("GET /api/tags", { query: { ...query, include: ["USED_BY"] }, signal });
      return { items: response.tags, total: response.total ?? 0 };
    }),
  );
  const totals = useLoaded(async (signal) => {
    const { tags } = await call("GET /api/statistics", { query: { by: "TAG" }, signal });
    return new Map(tags.map((tag) => [tag.id, tag.total]));
  });
  const close = () => (open.value = null);
  function reload(): void {
    loaded.reload();
    totals.reload();
  }

  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("tags.title")}</h1>
        {canWrite.value && (
          <button type="button" class="main" onClick={() => (open.value = { what: "edit" })}>
            {t("tag.new")}
          </button>
        )}
      </header>
      <AttributeTabs current="tags" />
      <Part of={loaded} bars={6}>
        {(tags) =>
          tags.length === 0 ? (
            <p class="hint">{t("tags.none")}</p>
          ) : (
            <table class="table records">
              <thead>
                <tr>
                  <th>{t("column.name")}</th>
                  <th class="number">{t("people")}</th>
                  <th class="wide">{t("usedBy")}</th>
                  {canWrite.value && (
                    <th>
                      <span class="unseen">{t("actions")}</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {tags.map((tag) => (
                  <tr key={tag.id}>
                    <th scope="row" class="grow">
                      <a class="cut" href={href(`/subscribers?filter=${encodeURIComponent(tagFilter(tag.name))}`)}>
                        <bdi dir="auto">{tag.name}</bdi>
                      </a>
                      {tag.description && (
                        <small class="cut">
                          <bdi dir="auto">{tag.description}</bdi>
                        </small>
                      )}
                    </th>
                    <td class="number">
                      {totals.data ? number(totals.data.get(tag.id) ?? 0) : <span class="count skeleton" />}
                    </td>
                    <td class="wide">
                      <UsedBy uses={tag.usedBy} />
                    </td>
                    {canWrite.value && (
                      <td>
                        <RowMenu name={tag.name} onOpen={(what) => (open.value = { tag, what })} />
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Part>
      {open.value?.what === "edit" && <EditTag tag={open.value.tag} onClose={close} onSaved={reload} />}
      {open.value?.what === "delete" && open.value.tag && (
        <DeleteTag tag={open.value.tag} total={totals.data?.get(open.value.tag.id) ?? 0} onClose={close} onDeleted={reload} />
      )}
    </div>
  );
}

/** Returns the filter of the people with a tag. */
function tagFilter(name: string): string {
  return `tags:"${name.replace(/["\\*]/g, "\\$&")}"`;
}

function EditTag({ tag, onClose, onSaved }: { tag: Tag | undefined; onClose: () => void; onSaved: () => void }) {
  return (
    <FormDialog
      title={t(tag ? "tag.rename" : "tag.new")}
      onClose={onClose}
      verb={t("save")}
      onSubmit={async (form) => {
        const body = { name: textOf(form, "name"), description: textOf(form, "description") };
        if (tag) await call("PATCH /api/tags/{id}", { path: { id: tag.id }, body });
        else await call("POST /api/tags", { body });
        notify(t("saved"));
        onSaved();
      }}
    >
      <TextField label={t("column.name")} name="name" max={100} value={tag?.name} />
      {tag && <p class="hint">{t("tag.renameText")}</p>}
      <label class="field">
        {t("description")}
        <textarea name="description" rows={2} maxLength={500} dir="auto" defaultValue={tag?.description ?? ""} />
      </label>
    </FormDialog>
  );
}

function DeleteTag({
  tag,
  total,
  onClose,
  onDeleted,
}: {
  tag: Tag;
  total: number;
  onClose: () => void;
  onDeleted: () => void;
}) {
  return (
    <FormDialog
      danger
      title={parts("tag.delete", { name: <bdi dir="auto">{tag.name}</bdi> })}
      verb={t("tag.deleteAction")}
      onClose={onClose}
      onSubmit={async () => {
        // What the person has seen is lost, and no more: without uses the server refuses.
        const query = { force: Boolean(tag.usedBy?.some((use) => use.type === "SEGMENT")) };
        await call("DELETE /api/tags/{id}", { path: { id: tag.id }, query });
        notify(t("deleted"));
        onDeleted();
      }}
    >
      <p>{plural("tag.deleteText", total)}</p>
      <UsesLost uses={tag.usedBy} />
    </FormDialog>
  );
}
