import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { announcedInDialog as announced, dialogs } from "../announce.ts";
import { returnFocus } from "../focus.ts";

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
  const before = useRef(announced.peek());
  useLayoutEffect(() => {
    const before = document.activeElement;
    // Its sentences, such as what is lost, are read with its title.
    const texts = [...(dialog.current?.querySelectorAll(".form > p") ?? [])];
    texts.forEach((text, index) => (text.id ||= `${id}-${index}`));
    if (texts.length) dialog.current?.setAttribute("aria-describedby", texts.map((text) => text.id).join(" "));
    dialogs.open += 1;
    return () => {
      dialogs.open -= 1;
      returnFocus(before);
    };
  }, []);
  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
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
          {announced.value === before.current ? "" : announced.value}
        </p>
      </div>
    </dialog>
  );
}
