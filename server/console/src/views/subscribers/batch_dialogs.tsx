// Dialogs that change the selected people. Each shows the numbers of a dry run before it acts.

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { BatchAction, CustomField, Operation } from "../../api/types.ts";
import type { Kind } from "../../components/operation_words.ts";
import { PlanDialog } from "../../components/plan_dialog.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { isAdmin } from "../../session.ts";
import { named, number, plural, t } from "../../texts.ts";
import { newTag } from "./columns.tsx";
import { countNow, type Group, starter, Who } from "./group.tsx";
import type { Status } from "./list.ts";
import { allTags } from "./suggestions.ts";

interface Props {
  group: Group;
  onStart: () => void;
  onClose: () => void;
}

/** Adds or removes a tag. */
export function TagDialog({ kind, group, ...props }: Props & { kind: "tag" | "untag" }) {
  const list = useId();
  const text = useSignal("");
  const known = useSignal<string[]>([]);
  const reading = useRef<Promise<unknown>>(undefined);
  function readTags(): Promise<unknown> {
    reading.current ??= allTags().then(
      (tags) => (known.value = tags),
      (error: unknown) => {
        reading.current = undefined;
        throw error;
      },
    );
    return reading.current;
  }
  useLayoutEffect(() => void readTags().catch(() => {}), []);
  const tag = text.value.trim();
  const isKnown = known.value.some((each) => each.toLowerCase() === tag.toLowerCase());
  const isNew = kind === "tag" && !isKnown;
  const action: BatchAction = kind === "tag" ? { addTags: [tag] } : { removeTags: [tag] };
  const begin = starter(group, action);
  return (
    <PlanDialog
      {...props}
      onStart={() => {
        if (kind === "tag") newTag.value = tag;
        props.onStart();
      }}
      title={(count) => plural(`batch.title.${kind}`, count)}
      // A name without a tag can be a typing error.
      verb={(count, dryRun) => plural(dryRun && isNew ? "batch.button.newTag" : `batch.button.${kind}`, count)}
      plan={tag && JSON.stringify(action)}
      counts="pause"
      start={async (options) => {
        await readTags();
        return await begin(options);
      }}
      size={group.size}
      numbers={(dryRun) => (
        <>
          {isNew && <p class="changed">{t("batch.newTag")}</p>}
          <Usual kind={kind} dryRun={dryRun} />
        </>
      )}
    >
      <Who group={group} />
      <label class="field">
        {t("batch.tag")}
        <input
          list={list}
          autofocus
          required
          dir="auto"
          autocomplete="off"
          maxLength={100}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <datalist id={list}>
          {known.value.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
    </PlanDialog>
  );
}

/** Numbers of people whom an action changes, and of people who already are as it leaves them. */
function Usual({ kind, dryRun }: { kind: Exclude<Kind, "undo">; dryRun: Operation }) {
  const { wouldChange = 0, unchanged = 0 } = dryRun;
  return (
    <>
      {wouldChange > 0 && <p>{plural(`batch.would.${kind}`, wouldChange)}</p>}
      {unchanged > 0 && <p>{plural(`batch.same.${kind}`, unchanged)}</p>}
      {wouldChange > 0 && kind !== "delete" && <Undoable kind={kind} />}
    </>
  );
}

/** Whether the change can be undone: that of a status only by admins. */
function Undoable({ kind }: { kind: Kind }) {
  return <p>{t(kind !== "status" || isAdmin.value ? "batch.undoable" : "batch.notUndoable")}</p>;
}

const STATUSES: readonly Status[] = ["UNSUBSCRIBED", "CONFIRMED", "UNCONFIRMED", "BOUNCED", "COMPLAINED"];
/** People with these statuses are left out: an opt-out or a complaint is never weakened for many. */
const LEFT_OUT: Record<Status, readonly Status[]> = {
  UNSUBSCRIBED: ["COMPLAINED"],
  CONFIRMED: ["UNSUBSCRIBED", "COMPLAINED"],
  UNCONFIRMED: ["UNSUBSCRIBED", "COMPLAINED"],
  BOUNCED: ["UNSUBSCRIBED", "COMPLAINED"],
  COMPLAINED: [],
};
const SUBSCRIBED: readonly Status[] = ["CONFIRMED", "UNCONFIRMED"];
const OPT_OUTS: readonly Status[] = ["UNSUBSCRIBED", "COMPLAINED"];

/** Changes the status. People who opted out are not subscribed again. */
export function StatusDialog({ group, ...props }: Props) {
  const id = useId();
  const chosen = useSignal<Status>("UNSUBSCRIBED");
  const source = useSignal("");
  const status = chosen.value;
  const { isAll } = group.selection;
  const subscribes = SUBSCRIBED.includes(status);
  const leftOut = isAll ? LEFT_OUT[status] : [];
  // Which of the chosen people complained is known from their rows.
  const chosenRows = LEFT_OUT[status].length && group.complained.length
    ? group.selection.with(group.complained, false)
    : group.selection;
  const consentSource = source.value.trim();
  const action: BatchAction = { changeStatus: status, ...(consentSource ? { consentSource } : {}) };
  // The number of people at the time of the dry run, with the people who are left out.
  const size = useSignal(group.size);
  const begin = starter(isAll ? group : { ...group, selection: chosenRows }, action, leftOut);
  // One number, which is that of the people who change.
  const verb = (_count: number, dryRun: Operation | null) =>
    dryRun?.wouldChange ? plural(`batch.button.${status}`, dryRun.wouldChange) : t("status.change");
  return (
    <PlanDialog
      {...props}
      title={(count, dryRun) => `${verb(count, dryRun)}${dryRun?.wouldChange ? "?" : ""}`}
      verb={verb}
      {...(status === "UNSUBSCRIBED" ? { keep: t("batch.keep") } : {})}
      danger={!subscribes}
      plan={status}
      counts="now"
      start={async (options) => {
        if (isAll && options.dryRun) size.value = await countNow(group);
        return await begin(options);
      }}
      size={group.size}
      isExact={!leftOut.length && chosenRows === group.selection}
      isBlocked={status === "CONFIRMED" && !consentSource}
      numbers={(dryRun) => (
        <>
          {leftOut.length > 0 && size.value !== group.size && (
            <p class="changed">{plural("batch.selectionChanged", size.value, { before: number(group.size) })}</p>
          )}
          <p>{plural("selection.count", size.value)}:</p>
          <StatusNumbers status={status} dryRun={dryRun} leftOut={LEFT_OUT[status].length ? Math.max(0, size.value - dryRun.total) : 0} />
        </>
      )}
    >
      <Who group={group} />
      <div class="options" role="radiogroup" aria-label={t("column.status")}>
        {STATUSES.map((each) => {
          // Only a filter leaves out people who opt out until the operation reads them.
          const isDisabled = !isAll && !OPT_OUTS.includes(each);
          return (
            <label class="option" key={each}>
              <input
                type="radio"
                name={id}
                value={each}
                checked={status === each}
                disabled={isDisabled}
                onChange={() => (chosen.value = each)}
              />
              <StatusLabel status={each} />
              <small>{isDisabled ? t("batch.onlyAll") : named("statusMeaning", each)}</small>
            </label>
          );
        })}
      </div>
      {status === "CONFIRMED" && (
        <label class="field">
          {t("batch.source")} <small>{t("required")}</small>
          <input
            dir="auto"
            required
            maxLength={200}
            placeholder={t("status.sourceExample")}
            value={source.value}
            onInput={(event) => (source.value = event.currentTarget.value)}
          />
        </label>
      )}
    </PlanDialog>
  );
}

function StatusNumbers({ status, dryRun, leftOut }: { status: Status; dryRun: Operation; leftOut: number }) {
  const { wouldChange = 0, unchanged = 0 } = dryRun;
  const isOptOut = status === "UNSUBSCRIBED";
  // People who already unsubscribed or complained have one sentence.
  const optedOut = isOptOut ? unchanged + leftOut : leftOut;
  return (
    <>
      {wouldChange > 0 && (
        <p>
          {plural("batch.would.status", wouldChange)} {isOptOut && t("batch.noMail")}
        </p>
      )}
      {!isOptOut && unchanged > 0 && <p>{plural("batch.same.status", unchanged)}</p>}
      {optedOut > 0 && <p>{plural(SUBSCRIBED.includes(status) ? "batch.notAgain" : "batch.optedOut", optedOut)}</p>}
      {wouldChange > 0 && <Undoable kind="status" />}
    </>
  );
}

/** Sets or removes the value of a custom field. */
export function FieldDialog({ group, fields, ...props }: Props & { fields: CustomField[] }) {
  // The fields can arrive later.
  const chosen = useSignal("");
  const text = useSignal("");
  const removes = useSignal(false);
  const field = fields.find((each) => each.key === chosen.value) ?? fields[0];
  const key = field?.key ?? "";
  const isComplete = field !== undefined && (removes.value || text.value.trim() !== "");
  const value = removes.value ? null : valueOf(text.value, field?.dataType);
  const action: BatchAction = { setCustomFields: { [key]: value } };
  function onInput(event: { currentTarget: { value: string } }): void {
    text.value = event.currentTarget.value;
    // Fields that arrive now take no value of this one.
    chosen.value = key;
  }
  return (
    <PlanDialog
      {...props}
      title={(count) => plural("batch.title.field", count)}
      verb={(count) => plural("batch.button.field", count)}
      plan={isComplete ? JSON.stringify(action) : ""}
      counts={removes.value || field?.dataType === "BOOLEAN" ? "now" : "enter"}
      start={starter(group, action)}
      size={group.size}
      numbers={(dryRun) => <Usual kind="field" dryRun={dryRun} />}
    >
      <Who group={group} />
      {!field && <p>{t("batch.noFields")}</p>}
      {field && (
        <>
          <label class="field">
            {t("batch.field")}
            <select
              autofocus
              value={key}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
                text.value = "";
              }}
            >
              {fields.map((each) => (
                <option key={each.key} value={each.key}>
                  {each.label}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            {t("batch.value")}
            {field.dataType === "BOOLEAN" ? (
              <select disabled={removes.value} value={text.value} onChange={onInput}>
                <option value="">–</option>
                <option value="true">{t("yes")}</option>
                <option value="false">{t("no")}</option>
              </select>
            ) : (
              <input
                // The types of Preact want one type of input per element.
                type={({ TEXT: "text", NUMBER: "number", DATE: "date" } as const)[field.dataType] as "text"}
                step={field.dataType === "NUMBER" ? "any" : undefined}
                dir={field.dataType === "TEXT" ? "auto" : undefined}
                autocomplete="off"
                disabled={removes.value}
                value={text.value}
                onInput={onInput}
              />
            )}
          </label>
          <label class="option">
            <input
              type="checkbox"
              checked={removes.value}
              onChange={(event) => (removes.value = event.currentTarget.checked)}
            />
            {t("batch.removeValue")}
          </label>
        </>
      )}
    </PlanDialog>
  );
}

function valueOf(text: string, type: CustomField["dataType"] | undefined): unknown {
  if (type === "NUMBER") return Number(text);
  return type === "BOOLEAN" ? text === "true" : text;
}

/** Deletes people. Their number has to be typed if there are many. */
export function DeleteDialog({ group, ...props }: Props) {
  return (
    <PlanDialog
      {...props}
      title={(count) => plural("batch.title.delete", count)}
      verb={(count) => plural("batch.button.delete", count)}
      keep={t("batch.keep")}
      danger
      mustType
      plan="delete"
      counts="now"
      start={starter(group, { delete: true })}
      size={group.size}
      numbers={({ total }) => <p>{plural("batch.would.delete", total)}</p>}
    >
      <Who group={group} />
      <p>{t("batch.deleteText")}</p>
    </PlanDialog>
  );
}
