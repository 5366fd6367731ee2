import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { notify } from "../announce.ts";
import { call } from "../api/client.ts";
import { currentShortcuts } from "../keys.ts";
import { useLoaded } from "../load.ts";
import { chooseTheme, THEMES } from "../preferences.ts";
import { go } from "../router.ts";
import { signOut } from "../session.ts";
import { choose, errorText, folded, type Language, LANGUAGES, t } from "../texts.ts";
import { startOf, VIEWS } from "../views.ts";
import { pastedAddress } from "../views/subscribers/search_text.ts";
import { Dialog } from "./dialog.tsx";
import { labelOf } from "./keys_dialog.tsx";
import { useListbox } from "./listbox.tsx";

interface Command {
  text: string;
  hint?: string;
  keys?: string | undefined;
  run: () => void;
}

/** The buttons and links at the top of the view. Those with a key are commands already. */
function buttonsOfView(): Command[] {
  const found = document.querySelectorAll<HTMLElement>(
    "#main :is(.page-head, .toolbar) :is(button, a):not(:disabled, #add-filter, .search *, [popover] *)",
  );
  return [...found]
    .filter((each) => each.offsetParent)
    .map((each) => ({ text: each.title || each.ariaLabel || each.textContent.trim(), run: () => each.click() }));
}

/** Views, segments, the actions of the view and settings, of which words of the name are typed. */
export function Palette({ onClose }: { onClose: () => void }) {
  const text = useSignal("");
  const buttons = useMemo(buttonsOfView, []);
  const segments = useLoaded((signal) => call("GET /api/segments", { query: { limit: 100 }, signal })).data?.segments ?? [];
  const typed = text.value.trim();
  const words = folded(typed).split(/\s+/);
  // Keys that move within the view are not commands.
  const shortcuts = currentShortcuts()
    .filter(({ keys }) => !keys.some((key) => /^(Ctrl\+k|j|k|(Shift\+)?\w{2,})$/.test(key)))
    .map((each) => ({ text: each.text ? t(each.text) : "", keys: each.keys[0], run: () => each.run(new KeyboardEvent("keydown")) }));
  const commands: Command[] = [
    ...VIEWS.filter((view) => view.letter ?? view.icon).map((view) => ({
      text: t(view.title),
      hint: t("palette.view"),
      keys: view.letter && `g ${view.letter}`,
      run: () => go(startOf(view)),
    })),
    ...shortcuts,
    ...buttons.filter(({ text }) => !shortcuts.some((each) => each.text === text)),
    ...segments.map(({ id, name }) => ({ text: name, hint: t("resource.segment"), run: () => go(`/subscribers?segment=${id}`) })),
    ...(["account", "sessions", "keys", "audit"] as const).map((part) => ({
      text: t(`settings.${part}`),
      hint: t("settings.title"),
      run: () => go(`/settings/${part}`),
    })),
    ...THEMES.map((theme) => ({
      text: t(`theme.${theme || "system"}`),
      hint: t("account.theme"),
      run: () => chooseTheme(theme),
    })),
    ...Object.entries(LANGUAGES).map(([code, name]) => ({
      text: name,
      hint: t("account.language"),
      run: () => void choose(code as Language),
    })),
    { text: t("account.signOut"), run: () => void signOut().catch((error) => notify(errorText(error))) },
  ].filter((each: Command) => words.every((word) => folded(`${each.text} ${each.hint ?? ""}`).includes(word)));
  const found = pastedAddress(typed);
  if (found) commands.unshift({ text: found, hint: t("person"), run: () => go(`/subscribers/${encodeURIComponent(found)}`) });
  if (typed) commands.push({ text: t("palette.search", { text: typed }), run: () => go(`/subscribers?q=${encodeURIComponent(typed)}`) });

  const listbox = useListbox(
    commands.map((each) => ({
      key: [each.text, each.hint, each.keys].join(),
      text: <bdi>{each.text}</bdi>,
      hint: hintOf(each),
      run: () => {
        onClose();
        // The focus returns first.
        setTimeout(each.run);
      },
    })),
    text.value,
    { label: t("palette.title") },
  );
  return (
    <Dialog title={<span class="unseen">{t("palette.title")}</span>} onClose={onClose}>
      <div class="palette">
        <input
          {...listbox.input}
          autofocus
          maxLength={400}
          aria-label={t("palette.title")}
          placeholder={t("palette.placeholder")}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
          onKeyDown={listbox.onKeyDown}
        />
        {listbox.list}
      </div>
    </Dialog>
  );
}

function hintOf({ hint, keys }: Command): ComponentChildren {
  return (
    <>
      {hint} {keys && <kbd>{labelOf(keys)}</kbd>}
    </>
  );
}
