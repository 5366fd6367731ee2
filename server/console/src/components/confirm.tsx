import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { errorText, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** A dialog about an action that cannot be undone: the verb is on its button. */
export function Confirm({
  title,
  action,
  run,
  onClose,
  children,
}: {
  title: ComponentChildren;
  action: ComponentChildren;
  run: (form: FormData) => Promise<void>;
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
          busy.value = true;
          run(new FormData(event.currentTarget))
            .then(onClose)
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
            {t("keep")}
          </button>
          <button class="main danger" disabled={busy.value}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
