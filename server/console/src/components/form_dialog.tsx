import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client.ts";
import { errorText, language, named, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** A dialog with fields or a question. It is closed when its action succeeds, and stays open after an error. */
export function FormDialog({
  title,
  verb,
  danger = false,
  keep = t(danger ? "keep" : "cancel"),
  disabled = false,
  onClose,
  onSubmit,
  reason,
  children,
}: {
  title: ComponentChildren;
  /** What the button does; without it, only the button that closes the dialog is shown. */
  verb: ComponentChildren;
  /** What the other button does, which closes the dialog. */
  keep?: string;
  /** Whether the action cannot be undone. */
  danger?: boolean;
  disabled?: boolean;
  onClose: () => void;
  /** Does it, with the values of the fields that have a name. With false as its result, the dialog stays open. */
  onSubmit: (form: FormData) => Promise<unknown>;
  /** What leads to the reason for an error. */
  reason?: (error: unknown) => ComponentChildren;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);

  async function submit(form: FormData): Promise<void> {
    busy.value = true;
    error.value = undefined;
    try {
      if ((await onSubmit(form)) !== false) onClose();
    } catch (problem) {
      error.value = problem;
    }
    busy.value = false;
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value && !disabled) void submit(new FormData(event.currentTarget));
        }}
      >
        {children}
        <Problem error={error.value} />
        {reason?.(error.value)}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {keep}
          </button>
          {verb && (
            <button class={danger ? "main danger" : "main"} disabled={busy.value || disabled}>
              {verb}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** Returns the text of a field of a form. */
export function textOf(form: FormData, name: string): string {
  return String(form.get(name) ?? "").trim();
}

/** Why a change failed, with the fields that the server names. */
export function Problem({ error }: { error: unknown }) {
  // The view that covers the page says that the session ended.
  if (error === undefined || (error instanceof ApiError && error.status === 401)) return null;
  // The texts for other codes say as much as the details.
  const details = error instanceof ApiError && error.code === "ValidationError" ? error.details : [];
  return (
    <div role="alert" class="error">
      <p>{details.length ? t("error.ValidationError") : errorText(error)}</p>
      {details.map(({ field, code, message }) => (
        <p key={field} dir="auto">
          <code>{field}</code> {language.value !== "en" && `${named("detail", code)}: `}
          <span lang="en">{message}</span>
        </p>
      ))}
    </div>
  );
}

/** Choices of which one applies, each with an explanation. */
export function Choices({
  legend,
  value,
  choices,
  onChoose,
}: {
  legend: string;
  value: string;
  choices: { value: string; text: string; hint?: string }[];
  onChoose: (value: string) => void;
}) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={legend}
            checked={choice.value === value}
            onChange={() => onChoose(choice.value)}
          />
          <span>
            {choice.text}
            {choice.hint && <small>{choice.hint}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
