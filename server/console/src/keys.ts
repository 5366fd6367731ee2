// Shortcuts: single letters outside fields, and sequences such as `g s`. They can be switched off.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { preference, setPreference } from "./preferences.ts";
import { canWrite } from "./session.ts";
import type { Key } from "./texts.ts";

export interface Shortcut {
  /** Names of keys as of KeyboardEvent, with Shift+ or Ctrl+ before; sequences have a space. */
  keys: string[];
  /** What it does, for the list of shortcuts; absent for a second way. */
  text?: Key;
  /** Whether it works now; always if it is absent. */
  when?: () => boolean;
  /** Whether only sessions that may change people have it. */
  writes?: true;
  run: (event: KeyboardEvent) => void;
}

const SEQUENCE_TIME = 1_500;
const active: { current: Shortcut[] }[] = [];
/** Whether single letters are shortcuts. */
export const hasLetters = signal(preference("letters") !== "off");
let first = "";
let firstAt = 0;

export function setLetters(on: boolean): void {
  hasLetters.value = on;
  setPreference("letters", on ? "" : "off");
}

/** Adds shortcuts while a component is shown; those added later come first. */
export function useShortcuts(shortcuts: Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useLayoutEffect(() => {
    active.unshift(latest);
    return () => {
      active.splice(active.indexOf(latest), 1);
    };
  }, []);
}

/** Returns the shortcuts that work now and have a text. */
export function currentShortcuts(): Shortcut[] {
  return working().filter((each) => each.text);
}

/** Returns the shortcuts of the view whose keys do nothing now, such as those for a selected row. */
export function otherShortcuts(): Shortcut[] {
  const current = new Set(currentShortcuts().flatMap((each) => each.keys));
  const others = all().filter(({ text, keys }) => text && !keys.some((key) => current.has(key)));
  return [...new Map(others.map((each) => [each.text, each])).values()];
}

function all(): Shortcut[] {
  return active.flatMap((each) => each.current).filter((each) => !each.writes || canWrite.value);
}

function working(): Shortcut[] {
  return all().filter((each) => each.when?.() ?? true);
}

export function listenForKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || (event.altKey && !isTyped(event))) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const name = nameOf(event);
    // An element in one that is closed can have the focus for a moment.
    const layer = target.closest("dialog, [popover]");
    if (layer?.matches("[open], :popover-open")) return;
    if (!layer && document.querySelector("dialog:modal")) return;
    if (!layer && name !== "Ctrl+k" && target.closest("input:not([type=checkbox]), select, textarea")) return;
    const sequence = Date.now() - firstAt < SEQUENCE_TIME ? `${first} ${name}` : "";
    first = name;
    firstAt = Date.now();
    const isLetter = event.key.length === 1 && !hasControl(event);
    if (isLetter && !hasLetters.value) return;
    // These keys have a meaning for a button or a link with the focus.
    if (["Enter", " "].includes(event.key) && target.closest("button, a, input")) return;
    for (const wanted of [sequence, name]) {
      const found = working().find((each) => each.keys.includes(wanted));
      if (wanted && found) {
        event.preventDefault();
        first = "";
        found.run(event);
        return;
      }
    }
  });
}

/**
 * Whether Alt or AltGr made a character of a shortcut: German keyboards have [ and ] only with them.
 * Windows reports Ctrl too for AltGr.
 */
function isTyped(event: KeyboardEvent): boolean {
  const hasAlt = event.altKey || event.getModifierState("AltGraph");
  return hasAlt && !event.metaKey && /^[[\]?/.]$/.test(event.key);
}

/** Whether Ctrl is pressed, or the key that macOS has for it. */
function hasControl(event: KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && !isTyped(event);
}

function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 && hasControl(event) ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (key.length > 1 || /[A-Z]/.test(key)) ? "Shift+" : "";
  const lower = key.length === 1 ? key.toLowerCase() : key;
  return `${hasControl(event) ? "Ctrl+" : ""}${shift}${lower}`;
}
