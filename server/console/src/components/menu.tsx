import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

/** Shows a menu next to a button. On a phone, the style shows it at the lower edge. */
export function place(button: HTMLElement | null, menu: HTMLElement | null): void {
  if (!button || !menu) return;
  const from = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = from.bottom + 4 + height <= innerHeight;
  menu.style.setProperty("--left", `${Math.max(4, Math.min(from.left, innerWidth - width - 4))}px`);
  menu.style.setProperty("--top", `${below ? from.bottom + 4 : Math.max(4, from.top - height - 4)}px`);
}

/**
 * A button that opens a menu, whose items are buttons and links. Arrow keys move between them.
 *
 * The letter in `data-key` of an item is shown and chooses it.
 */
export function Menu({
  label,
  title,
  of,
  class: classes = "",
  children,
}: {
  label: ComponentChildren;
  /** The name of the button if its label is an icon. */
  title?: string;
  /** The ID of the element whose text completes the title to a name. */
  of?: string;
  class?: string;
  children: ComponentChildren;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const items = () => [
    ...(menu.current?.querySelectorAll<HTMLElement>("button:not(:disabled), a, input, select") ?? []),
  ];

  function move(event: KeyboardEvent): void {
    if (!menu.current?.matches(":popover-open")) return;
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    // Letters are shortcuts of the view behind the menu.
    if (event.key !== "Escape" && event.key !== "Tab") event.stopPropagation();
    if (to === undefined) {
      // An item can have a letter of its own.
      const item = all.find((each) => each.dataset.key === event.key.toLowerCase());
      if (item) event.preventDefault();
      item?.click();
      return;
    }
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  }

  return (
    <>
      <button
        ref={button}
        type="button"
        class={classes}
        popovertarget={id}
        id={`${id}-button`}
        aria-label={title}
        aria-labelledby={of && `${id}-button ${of}`}
        title={title}
      >
        {label}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        class="menu"
        onKeyDown={move}
        onBeforeToggle={(event) => {
          // The browser moves the focus when it shows the menu, before it handles the next key.
          if (event.newState === "open") items()[0]?.setAttribute("autofocus", "");
        }}
        onToggle={(event) => event.newState === "open" && place(button.current, menu.current)}
        onClick={(event) => {
          const item = (event.target as Element).closest("button, a");
          if (item) menu.current?.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}
