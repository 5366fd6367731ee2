import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { announce, notify } from "../../announce.ts";
import { ApiError } from "../../api/client.ts";
import type { CustomField } from "../../api/types.ts";
import { useAskBeforeUnload } from "../../ask_before_unload.ts";
import { restored } from "../../connection.ts";
import { Icon } from "../../components/icon.tsx";
import { session } from "../../session.ts";
import { detailText, errorText, parts, t } from "../../texts.ts";
import { type Changes, Conflict, type PersonData } from "./person_data.ts";
import { Value } from "./timeline.tsx";

const SAVED_TIME = 3_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Moves the focus to a field whose value could not be saved. Returns whether there is one. */
export function focusUnsaved(): boolean {
  const field = document.querySelector<HTMLElement>(".editor.unsaved :is(input, select)");
  field?.focus();
  return field !== null;
}

/**
 * A field of a person, edited in place: Enter and leaving it save, Escape restores.
 *
 * Only Enter saves an address: a confirmed person has to confirm a new one again.
 */
export function FieldEditor({
  name,
  ...props
}: {
  data: PersonData;
  label: string;
  name: "email" | "firstName" | "lastName";
  value: string;
  hint?: string;
  isReadOnly: boolean;
}) {
  return (
    <Editor
      {...props}
      type="text"
      isLeftUnsaved={name === "email"}
      save={(text) => props.data.change({ [name]: text }, (subscriber) => subscriber[name], props.value)}
    />
  );
}

/** A custom field, edited by its type. */
export function CustomFieldEditor({
  data,
  field,
  value,
  isReadOnly,
}: {
  data: PersonData;
  field: CustomField;
  value: unknown;
  isReadOnly: boolean;
}) {
  const text = value === undefined || value === null ? "" : String(value);
  const isDay = field.dataType === "DATE" && (!text || DATE.test(text));
  const types = { TEXT: "text", NUMBER: "number", BOOLEAN: "boolean", DATE: isDay ? "date" : "text" } as const;
  return (
    <Editor
      label={field.label}
      isLabelCustom
      value={text}
      type={types[field.dataType]}
      isReadOnly={isReadOnly}
      save={(changed) => {
        const changes: Changes = { customFields: { [field.key]: valueOf(changed, field.dataType) } };
        return data.change(changes, (subscriber) => subscriber.customFields?.[field.key], value);
      }}
    />
  );
}

function valueOf(text: string, type: CustomField["dataType"]): unknown {
  if (text === "") return null;
  if (type === "NUMBER") return Number(text);
  if (type === "BOOLEAN") return text === "true";
  return text;
}

function Editor({
  label,
  isLabelCustom = false,
  value,
  type,
  hint,
  isLeftUnsaved = false,
  isReadOnly,
  save,
}: {
  label: string;
  isLabelCustom?: boolean;
  value: string;
  type: "text" | "number" | "date" | "boolean";
  hint?: string;
  /** Whether a change is not saved when the field is left. */
  isLeftUnsaved?: boolean;
  isReadOnly: boolean;
  /** Returns whether the stored value could be read. */
  save: (text: string) => Promise<boolean>;
}) {
  const id = useId();
  const text = useSignal(value);
  const isBusy = useSignal(false);
  const isSaved = useSignal(false);
  const error = useSignal("");
  const theirs = useSignal<string | null>(null);
  const isChanged = text.value !== value;
  const input = useRef<HTMLInputElement>(null);
  const isShown = useRef(true);
  const own = useRef(session.peek());
  // A part of a date or a number has no value.
  const isComplete = useRef(true);
  const leave = useRef(() => {});
  leave.current = () => {
    if (!isLeftUnsaved && isChanged && isComplete.current && !error.value && theirs.value === null) void store(text.value);
    else if (!isShown.current) lose.current();
  };
  const lose = useRef(() => {});
  lose.current = () => {
    if (!isBusy.value && (isChanged || !isComplete.current)) reportLoss();
  };
  useLayoutEffect(() => () => {
    // The browser can go back without the event that the field lost the focus.
    isShown.current = false;
    // The next session must not save what was entered in this one.
    const { account, session: now } = session.value ?? {};
    const isSameAccount = account?.id === own.current?.account?.id;
    if (isSameAccount && now?.scope === own.current?.session?.scope) leave.current();
    else if (isSameAccount) lose.current();
    // An element that is removed can lose the focus after that.
    leave.current = () => {};
  }, []);
  useAskBeforeUnload(isChanged);

  const isAway = useRef(false);
  useLayoutEffect(() => {
    if (isAway.current) error.value = "";
    isAway.current = false;
  }, [restored.value]);

  const stored = useRef(value);
  stored.current = value;
  useLayoutEffect(() => {
    // A value that changed elsewhere replaces one that is not being edited.
    if (theirs.value === null && !isBusy.value) text.value = value;
  }, [value]);

  async function store(changed: string): Promise<void> {
    if (isBusy.value || (changed === value && theirs.value === null)) return;
    isBusy.value = true;
    error.value = "";
    theirs.value = null;
    let isChangedAgain = false;
    try {
      const isRead = await save(changed);
      isChangedAgain = text.value !== changed;
      // The server can have stored it in another form.
      if (isRead && !isChangedAgain) text.value = stored.current;
      isSaved.value = true;
      announce(t("field.saved"));
      setTimeout(() => (isSaved.value = false), SAVED_TIME);
    } catch (problem) {
      if (problem instanceof Conflict) theirs.value = String(problem.theirs ?? "");
      else if (!(problem instanceof ApiError)) {
        isAway.current = true;
        error.value = errorText(problem);
      }
      // After the person has signed in again, leaving the field saves it.
      else if (problem.status !== 401 || !isShown.current) {
        const [detail] = problem.code === "ValidationError" ? problem.details : [];
        error.value = detail ? detailText({ ...detail, field: "" }) : errorText(problem);
      }
      if (!isShown.current) reportLoss();
    }
    isBusy.value = false;
    if (isChangedAgain) leave.current();
  }

  /** States why a value that is not shown anymore was not saved. */
  function reportLoss(): void {
    const conflict = theirs.value !== null && t("field.conflict", { theirs: theirs.value || "–", mine: text.value || "–" });
    const why = conflict || error.value || input.current?.validationMessage || hint || t("error.Forbidden");
    notify(t("field.notSaved", { field: label, why }));
  }

  function restore(): void {
    text.value = value;
    error.value = "";
    theirs.value = null;
    isComplete.current = true;
    // An incomplete value of the browser is not a change for Preact.
    if (input.current) input.current.value = value;
  }

  const isUnsaved = error.value !== "" || theirs.value !== null || (isLeftUnsaved && isChanged);
  const common = {
    id,
    "aria-invalid": error.value ? ("true" as const) : undefined,
    "aria-describedby": `${id}-note ${id}-error`,
  };
  return (
    // Each field is a form, of which screen readers would read the beginning and the end.
    <form
      role="none"
      class={isUnsaved ? "editor unsaved" : "editor"}
      onSubmit={(event) => {
        event.preventDefault();
        void store(text.value);
      }}
    >
      <label for={isReadOnly ? undefined : id}>
        {isLabelCustom ? <bdi class="cut">{label}</bdi> : label}
      </label>
      {isReadOnly ? (
        <bdi class="value">{type === "boolean" ? yesOrNo(value) : value || "–"}</bdi>
      ) : type === "boolean" ? (
        <select {...common} value={text.value} onBlur={() => leave.current()} onChange={(event) => {
          text.value = event.currentTarget.value;
          void store(text.value);
        }}>
          <option value="">–</option>
          <option value="true">{t("yes")}</option>
          <option value="false">{t("no")}</option>
        </select>
      ) : (
        <input
          {...common}
          ref={input}
          // A disabled one would lose the focus.
          readOnly={isBusy.value}
          // The types of Preact want one type of input per element.
          type={type as "text"}
          step={type === "number" ? "any" : undefined}
          dir={type === "text" ? "auto" : undefined}
          autocomplete="off"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            isComplete.current = !event.currentTarget.validity.badInput;
            error.value = "";
            // The same value as the stored one is no conflict.
            if (text.value === value) theirs.value = null;
          }}
          onBlur={(event) => {
            // Only the window lost the focus.
            if (document.activeElement === event.currentTarget) return;
            if (isComplete.current) leave.current();
            else error.value = event.currentTarget.validationMessage;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            if (isChanged || !isComplete.current) restore();
            else event.currentTarget.blur();
          }}
        />
      )}
      {isSaved.value && !isChanged && (
        <span class="saved" title={t("field.saved")}>
          <Icon name="check" />
        </span>
      )}
      {isChanged && type !== "boolean" && theirs.value === null && (
        // The keys for these buttons are Enter and Escape: Tab leads to the next field. A click on them keeps the focus.
        <div class="below" onMouseDown={(event) => event.preventDefault()}>
          {hint && <small id={`${id}-note`}>{hint}</small>}
          <button class="main" disabled={isBusy.value} tabIndex={-1}>
            {t("field.save")}
          </button>
          <button type="button" tabIndex={-1} onClick={restore}>
            {t("field.restore")}
          </button>
        </div>
      )}
      {theirs.value !== null && (
        <div class="below" role="alert">
          <small id={`${id}-note`}>{parts("field.conflict", { theirs: <Value text={theirs.value || "–"} />, mine: <Value text={text.value || "–"} /> })}</small>
          <button class="main">{t("field.keepMine")}</button>
          <button type="button" onClick={restore}>
            {t("field.takeTheirs")}
          </button>
        </div>
      )}
      {error.value && (
        <p id={`${id}-error`} class="below error" role="alert">
          {error.value}
        </p>
      )}
    </form>
  );
}

function yesOrNo(value: string): string {
  return value === "true" ? t("yes") : value === "false" ? t("no") : "–";
}
