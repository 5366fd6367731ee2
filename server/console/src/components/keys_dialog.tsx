import { currentShortcuts, hasLetters, otherShortcuts, setLetters, type Shortcut } from "../keys.ts";
import { t } from "../texts.ts";
import { VIEWS } from "../views.ts";
import { Dialog } from "./dialog.tsx";

const SYMBOLS: Record<string, string> = {
  ...(/Mac|iP/.test(navigator.platform) ? { Ctrl: "⌘" } : {}),
  ArrowDown: "↓",
  ArrowUp: "↑",
  PageDown: "Page ↓",
  PageUp: "Page ↑",
  Escape: "Esc",
};

/** Returns how keyboards label a key or several. */
export function labelOf(keys: string): string {
  return keys.replace(/\w+/g, (name) => SYMBOLS[name] ?? name).replace("+", " ");
}

/** The switch for single letters, which has the focus, and the shortcuts of the view, those that work now first. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const views = VIEWS.filter((view) => view.letter).map((view) => ({
    keys: [`g ${view.letter}`],
    text: t("keys.goTo", { view: t(view.title) }),
  }));
  const named = ({ keys, text }: Shortcut) => ({ keys, text: text ? t(text) : "" });
  const others = otherShortcuts();
  return (
    <Dialog title={t("keys.title")} onClose={onClose}>
      <label class="option">
        <input
          type="checkbox"
          checked={hasLetters.value}
          onChange={(event) => setLetters(event.currentTarget.checked)}
        />
        {t("keys.letters")}
      </label>
      <List shortcuts={[...currentShortcuts().map(named), ...views]} />
      {others.length > 0 && (
        <section class="muted" aria-labelledby="other-keys">
          <h3 id="other-keys">{t("keys.others")}</h3>
          <List shortcuts={others.map(named)} />
        </section>
      )}
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("close")}
        </button>
      </div>
    </Dialog>
  );
}

function List({ shortcuts }: { shortcuts: { keys: string[]; text: string }[] }) {
  return (
    <dl class="keys">
      {shortcuts.map(({ keys, text }) => (
        <div key={text}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{labelOf(key)}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
