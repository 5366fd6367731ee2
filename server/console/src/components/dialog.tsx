import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { announce, announcedInDialog, dialogs, empty } from "../announce.ts";
import { focusBefore, returnFocus } from "../focus.ts";

/**
 * A modal dialog. Escape and a click on the backdrop ask `onClose`; the focus returns by itself.
 *
 * Browsers close it at a second Escape in any case. If `attempts` changes after that, it is shown again.
 */
export function Dialog({
  title,
  attempts,
  onClose,
  children,
}: {
  title: ComponentChildren;
  attempts?: number;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const described = useRef(0);
  useLayoutEffect(() => {
    // Its sentences, such as what is lost, are read with its title. Those that are loaded later are announced instead.
    const texts = [...(dialog.current?.querySelectorAll(":is(.dialog, .form) > p:not([role], .counting)") ?? [])];
    const added = texts.filter((text) => !text.id);
    for (const text of added) text.id = `${id}-${described.current++}`;
    if (dialog.current?.open) announce(added.map((text) => text.textContent).join(" "));
    else dialog.current?.setAttribute("aria-describedby", texts.map((text) => text.id).join(" "));
  });
  useLayoutEffect(() => {
    const before = focusBefore();
    dialogs.open += 1;
    empty();
    return () => {
      dialogs.open -= 1;
      returnFocus(before);
    };
  }, []);
  useLayoutEffect(() => {
    if (dialog.current?.open) return;
    dialog.current?.showModal();
    // The browser begins with the first choice, also if another one is chosen.
    dialog.current?.querySelector<HTMLElement>("fieldset:focus-within [type=radio]:checked")?.focus();
  }, [attempts]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onKeyDown={(event) => event.currentTarget.open && event.stopPropagation()}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      <div class="dialog">
        <h2 id={id}>{title}</h2>
        {children}
        <p class="unseen" role="status">
          {announcedInDialog.value}
        </p>
      </div>
    </dialog>
  );
}
