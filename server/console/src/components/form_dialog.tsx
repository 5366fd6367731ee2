import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client.ts";
import { errorText, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** A dialog that does something when its button is pressed. It stays open after an error. */
export function FormDialog({
  title,
  verb,
  keep,
  danger = false,
  disabled = false,
  onClose,
  onSubmit,
  children,
}: {
  title: ComponentChildren;
  /** What the button does. */
  verb: string;
  /** What the other button does, which closes the dialog. */
  keep?: string;
  danger?: boolean;
  disabled?: boolean;
  onClose: () => void;
  onSubmit: () => Promise<void>;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);

  async function submit(): Promise<void> {
    busy.value = true;
    error.value = undefined;
    try {
      await onSubmit();
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
          if (!busy.value && !disabled) void submit();
        }}
      >
        {children}
        <Problem error={error.value} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {keep ?? t("cancel")}
          </button>
          <button class={danger ? "main danger" : "main"} disabled={busy.value || disabled}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Why a change failed, with the fields that the server names. */
export function Problem({ error }: { error: unknown }) {
  if (error === undefined) return null;
  const details = error instanceof ApiError ? error.details : [];
  return (
    <div role="alert" class="error">
      <p>{errorText(error)}</p>
      {details.map(({ field, message }) => (
        <p key={field} dir="auto">
          <code>{field}</code> {message}
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
