import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { notify } from "../../announce.ts";
import { ApiError, call, callTagged } from "../../api/client.ts";
import type { Segment } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { FilterField } from "../../components/filter_field.tsx";
import { Part } from "../../components/part.tsx";
import { UsesLost } from "../../components/used_by.tsx";
import { useLoaded } from "../../load.ts";
import { address, go, href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { errorText, parts, t } from "../../texts.ts";
import { filterError } from "../subscribers/search_box.tsx";

type Values = Pick<Segment, "name" | "filter" | "description">;

/** A form for a new segment, with the filter of the address. */
export function NewSegment() {
  const filter = address.value.query.get("filter") ?? "";
  async function create(body: Values): Promise<void> {
    const { segment } = await call("POST /api/segments", { body });
    leave(t("segment.created"), segment.id);
  }
  return (
    <div class="page">
      <h1>{t("segment.new")}</h1>
      {canWrite.value && !filter && (
        <p class="hint">
          {parts("segment.inList", { list: <a href={href("/subscribers")}>{t("subscribers.title")}</a> })}
        </p>
      )}
      {canWrite.value ? (
        <Form start={{ name: "", filter, description: "" }} save={create} />
      ) : (
        <p class="warning">{t("readOnly")}</p>
      )}
    </div>
  );
}

/** The filter of a segment, which can be changed, and its deletion. */
export function EditSegment({ id }: { id: string }) {
  const deletes = useSignal(false);
  const theirs = useSignal<Segment | null>(null);
  const path = { id };
  const loaded = useLoaded(async (signal) => {
    const query = { include: ["USED_BY" as const] };
    const { body, etag } = await callTagged("GET /api/segments/{id}", { path, query, signal });
    return { segment: body.segment, etag };
  });

  async function save(body: Values): Promise<void> {
    const etag = loaded.data?.etag ?? "";
    try {
      await call("PATCH /api/segments/{id}", { path, body, etag });
      leave(t("saved"), id);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "PreconditionFailed")) throw error;
      const current = await callTagged("GET /api/segments/{id}", { path });
      theirs.value = current.body.segment;
      // The next click on Save replaces what the person has now seen.
      loaded.replace({ segment: current.body.segment, etag: current.etag });
    }
  }

  return (
    <div class="page">
      <Part of={loaded} bars={5}>
        {({ segment }) => (
          <>
            <header class="page-head">
              <h1>
                <bdi dir="auto">{segment.name}</bdi>
              </h1>
              {segment.filter && <a href={href(`/subscribers?segment=${id}`)}>{t("segment.open")}</a>}
            </header>
            {!segment.filter && <p class="warning">{t("segment.lostFilter")}</p>}
            {theirs.value && <Theirs segment={theirs.value} />}
            <Form start={segment} save={save}>
              <button type="button" class="plain first" onClick={() => (deletes.value = true)}>
                {t("delete")}…
              </button>
            </Form>
            {deletes.value && (
              <FormDialog
                danger
                title={parts("segment.delete", { name: <bdi dir="auto">{segment.name}</bdi> })}
                verb={t("segment.deleteAction")}
                onClose={() => (deletes.value = false)}
                onSubmit={async () => {
                  await call("DELETE /api/segments/{id}", { path });
                  notify(t("deleted"));
                  go("/segments");
                }}
              >
                <p>{t("segment.deleteText")}</p>
                <UsesLost uses={segment.usedBy} />
              </FormDialog>
            )}
          </>
        )}
      </Part>
    </div>
  );
}

function leave(text: string, id: string): void {
  notify(text, { text: t("open"), run: () => go(`/subscribers?segment=${id}`) });
  go("/segments");
}

/** What another person stored meanwhile. */
function Theirs({ segment }: { segment: Segment }) {
  return (
    <div class="warning" role="alert">
      <p>{t("conflict")}</p>
      <p>
        <bdi dir="auto">{segment.name}</bdi>: <code dir="auto">{segment.filter}</code>
      </p>
    </div>
  );
}

function Form({
  start,
  save,
  children,
}: {
  start: Values;
  save: (values: Values) => Promise<void>;
  children?: ComponentChildren;
}) {
  const { name, filter, description } = start;
  const values = useSignal<Values>({ name, filter, description });
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  const readOnly = !canWrite.value;
  const first = useRef<HTMLInputElement>(null);
  // The name can be typed at once.
  useLayoutEffect(() => void (name || first.current?.focus()), []);

  async function submit(): Promise<void> {
    busy.value = true;
    error.value = null;
    try {
      await save(values.value);
    } catch (problem) {
      // The filter shows its error itself.
      error.value = filterError(problem) ? null : problem;
    }
    busy.value = false;
  }

  return (
    <form
      class="form segment-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label class="field">
        {t("column.name")}
        <input
          ref={first}
          required
          maxLength={100}
          dir="auto"
          autocomplete="off"
          readOnly={readOnly}
          value={values.value.name}
          onInput={(event) => (values.value = { ...values.value, name: event.currentTarget.value })}
        />
      </label>
      <FilterField
        value={values.value.filter}
        readOnly={readOnly}
        onInput={(changed) => (values.value = { ...values.value, filter: changed })}
      />
      <label class="field">
        {t("description")}
        <textarea
          rows={2}
          maxLength={500}
          dir="auto"
          readOnly={readOnly}
          value={values.value.description}
          onInput={(event) => (values.value = { ...values.value, description: event.currentTarget.value })}
        />
      </label>
      {error.value ? (
        <p class="error" role="alert">
          {errorText(error.value)}
        </p>
      ) : null}
      {!readOnly && (
        <div class="actions">
          {children}
          <button type="button" onClick={() => go("/segments")}>
            {t("cancel")}
          </button>
          <button class="main" disabled={busy.value}>
            {t("save")}
          </button>
        </div>
      )}
    </form>
  );
}
