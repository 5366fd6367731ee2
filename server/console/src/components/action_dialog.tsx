import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { errorText, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** A dialog with fields or a question, which is closed when its action succeeds. */
export function ActionDialog({
  title,
  action,
  isRisky = false,
  leave = t(isRisky ? "keep" : "cancel"),
  run,
  onClose,
  children,
}: {
  title: ComponentChildren;
  /** The verb on the button. */
  action: ComponentChildren;
  /** Whether the action cannot be undone. */
  isRisky?: boolean;
  /** The text of the button that does nothing. */
  leave?: string;
  /** With false as its result, the dialog stays. */
  run: (form: FormData) => Promise<void | boolean>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (busy.value) return;
          busy.value = true;
          error.value = null;
          run(new FormData(event.currentTarget))
            .then((isDone) => isDone !== false && onClose())
            .catch((problem: unknown) => (error.value = problem))
            .finally(() => (busy.value = false));
        }}
      >
        {children}
        {error.value ? (
          <p class="error" role="alert">
            {errorText(error.value)}
          </p>
        ) : null}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {leave}
          </button>
          <button class={isRisky ? "main danger" : "main"} disabled={busy.value}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Returns the text of a field of a form. */
export function textOf(form: FormData, name: string): string {
  return String(form.get(name) ?? "").trim();
}
