import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { ApiError } from "../../api/client.ts";
import type { CustomField, Subscriber } from "../../api/types.ts";
import { AddPerson } from "../../components/add_person.tsx";
import { Icon } from "../../components/icon.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { restored } from "../../connection.ts";
import { copy } from "../../copying.ts";
import { useShortcuts } from "../../keys.ts";
import { ended } from "../../operations.ts";
import { href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { errorText, parts, t } from "../../texts.ts";
import { LiftDialog } from "../suppressions/lift_dialog.tsx";
import { copyCurl } from "./copy.ts";
import { PersonDeliveries } from "./deliveries.tsx";
import { DeleteDialog, EraseDialog } from "./ending_dialogs.tsx";
import { CustomFieldEditor, FieldEditor } from "./field_editor.tsx";
import { PersonData } from "./person_data.ts";
import { PersonMenu } from "./person_menu.tsx";
import { Sentence } from "./sentence.tsx";
import { canSubscribeAgain, StatusDialog } from "./status_dialog.tsx";
import { TagEditor } from "./tag_editor.tsx";
import { Timeline } from "./timeline.tsx";

/** Fields without a value beyond these are shown on request. */
const FEW_FIELDS = 8;
export type DialogName = "" | "add" | "status" | "statusByKey" | "delete" | "erase" | "lift";

/** A person by identifier or address: whether they may be mailed, their data and their history. */
export function Person({
  id,
  known,
  fields,
  edits,
  opensMenu,
  onClose,
  onChange,
  onAdded,
  onGone,
}: {
  id: string;
  /** The person as the list shows it. */
  known: Subscriber | undefined;
  fields: CustomField[];
  /** Whether the first field gets the focus when it can be changed. */
  edits: RefObject<boolean>;
  /** Whether the menu is opened when it has all its items. */
  opensMenu: RefObject<boolean>;
  onClose: () => void;
  onChange: (subscriber: Subscriber) => void;
  onAdded: () => void;
  /** The person was deleted. */
  onGone: (text: string) => void;
}) {
  const data = useMemo(() => new PersonData(id, known, onChange), [id]);
  const dialog = useSignal<DialogName>("");
  const panel = useRef<HTMLElement>(null);
  const subscriber = data.subscriber.value;
  const mailability = data.mailability.value;
  const email = subscriber?.email ?? (id.includes("@") ? id : "");
  const isChangeable = canWrite.value && mailability !== null && subscriber !== null;

  useLayoutEffect(() => {
    const request = new AbortController();
    void data.load(request.signal);
    return () => request.abort();
  }, [data, restored.value, ended.value]);
  useLayoutEffect(() => {
    // On a phone the panel replaces the list.
    if (!document.getElementById("grid")?.offsetParent) panel.current?.focus();
    // What was wanted of this person is not done with the next one.
    return () => void (edits.current = opensMenu.current = false);
  }, []);
  const editFirst = () => panel.current?.querySelector("input")?.focus();
  useLayoutEffect(() => {
    if (isChangeable && edits.current) editFirst();
    if (isChangeable) edits.current = false;
  }, [isChangeable]);
  const openMenu = () => panel.current?.querySelector<HTMLElement>(".more")?.click();
  const isKnown = subscriber !== null;
  useLayoutEffect(() => {
    if (isKnown && opensMenu.current) openMenu();
    if (isKnown) opensMenu.current = false;
  }, [isKnown]);
  useShortcuts([
    { keys: ["u"], text: "keys.status", writes: true, when: () => isChangeable, run: () => (dialog.value = "statusByKey") },
    { keys: ["e"], text: "keys.edit", writes: true, when: () => isChangeable, run: editFirst },
    { keys: ["t"], text: "keys.tag", writes: true, when: () => isChangeable, run: () => panel.current?.querySelector<HTMLElement>("#new-tag")?.focus() },
    { keys: ["c"], text: "keys.copyAddress", run: () => void (email && copy(email)) },
    { keys: ["y"], text: "keys.copyCurl", run: () => copyCurl(subscriber?.id ?? id) },
    { keys: ["."], text: "keys.more", run: openMenu },
  ]);

  return (
    <aside class="panel" ref={panel} tabIndex={-1} aria-label={t("person.title")}>
      <header>
        <h2>
          <bdi dir="auto">{email || id}</bdi>
        </h2>
        <PersonMenu data={data} email={email} onDialog={(name) => (dialog.value = name)} />
        <button type="button" class="plain" aria-label={t("close")} title={t("close")} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {data.error.value ? (
        <p class="error" role="alert">
          {/* Only the ID can be wrong. */}
          {data.error.value instanceof ApiError && data.error.value.status === 400
            ? t("person.missing")
            : errorText(data.error.value)}
        </p>
      ) : null}
      {mailability && (
        <Sentence mailability={mailability} subscriber={subscriber} data={data} onLift={() => (dialog.value = "lift")} />
      )}
      {mailability?.reason === "NOT_SUBSCRIBED" && !subscriber && canWrite.value && (
        <p class="status-line">
          <button type="button" onClick={() => (dialog.value = "add")}>
            {t("addPerson.this")}…
          </button>
        </p>
      )}
      {subscriber && (
        <>
          <div class="status-line">
            <StatusLabel status={subscriber.status} />
            {canWrite.value && (
              <button type="button" disabled={!isChangeable} onClick={() => (dialog.value = "status")}>
                {t(mailability && canSubscribeAgain(subscriber, mailability) ? "status.again" : "status.change")}…
              </button>
            )}
          </div>
          <Fields data={data} subscriber={subscriber} fields={fields} isReadOnly={!isChangeable} />
          <TagEditor data={data} tags={subscriber.tags} isReadOnly={!isChangeable} />
          <Segments data={data} />
          <PersonDeliveries id={subscriber.id} version={subscriber.updatedAt ?? ""} />
          <Timeline data={data} fields={fields} />
          <p class="hint">
            {parts("person.created", { time: <Time value={subscriber.createdAt} /> })}{" "}
            {subscriber.consent?.source &&
              parts("person.consent", { source: <bdi>{subscriber.consent.source}</bdi> })}{" "}
            <code>{subscriber.id}</code>
          </p>
        </>
      )}
      {(dialog.value === "status" || dialog.value === "statusByKey") && subscriber && mailability && (
        <StatusDialog
          data={data}
          subscriber={subscriber}
          mailability={mailability}
          isByKey={dialog.value === "statusByKey"}
          onClose={() => (dialog.value = "")}
        />
      )}
      {dialog.value === "add" && (
        <AddPerson
          email={email}
          onClose={() => (dialog.value = "")}
          onAdded={() => {
            void data.load();
            onAdded();
          }}
        />
      )}
      {dialog.value === "lift" && (
        <LiftDialog
          id={email}
          name={<bdi dir="auto">{email}</bdi>}
          onClose={() => (dialog.value = "")}
          onLifted={() => void data.load()}
        />
      )}
      {dialog.value === "delete" && subscriber && (
        <DeleteDialog data={data} subscriber={subscriber} onClose={() => (dialog.value = "")} onGone={onGone} />
      )}
      {dialog.value === "erase" && subscriber && (
        <EraseDialog data={data} subscriber={subscriber} onClose={() => (dialog.value = "")} onGone={onGone} />
      )}
    </aside>
  );
}

function Fields({
  data,
  subscriber,
  fields,
  isReadOnly,
}: {
  data: PersonData;
  subscriber: Subscriber;
  fields: CustomField[];
  isReadOnly: boolean;
}) {
  const showsAll = useSignal(false);
  const shown =
    showsAll.value || fields.length <= FEW_FIELDS
      ? fields
      : fields.filter((field) => subscriber.customFields?.[field.key] !== undefined);
  return (
    <div class="fields">
      <FieldEditor
        data={data}
        label={t("column.email")}
        name="email"
        value={subscriber.email}
        hint={t("person.newAddress")}
        isReadOnly={isReadOnly}
      />
      <FieldEditor data={data} label={t("person.firstName")} name="firstName" value={subscriber.firstName} isReadOnly={isReadOnly} />
      <FieldEditor data={data} label={t("person.lastName")} name="lastName" value={subscriber.lastName} isReadOnly={isReadOnly} />
      {shown.map((field) => (
        <CustomFieldEditor
          key={field.key}
          data={data}
          field={field}
          value={subscriber.customFields?.[field.key]}
          isReadOnly={isReadOnly}
        />
      ))}
      {shown.length < fields.length && (
        <button type="button" class="plain" onClick={() => (showsAll.value = true)}>
          {t("person.emptyFields", { count: fields.length - shown.length })}
        </button>
      )}
    </div>
  );
}

function Segments({ data }: { data: PersonData }) {
  if (!data.segments.value.length) return null;
  return (
    <section class="field">
      <h3>{t("person.segments")}</h3>
      <p class="tags wrap">
        {data.segments.value.map((segment) => (
          <a class="tag" key={segment.id} href={href(`/subscribers?segment=${segment.id}`)}>
            <bdi>{segment.name}</bdi>
          </a>
        ))}
      </p>
    </section>
  );
}
