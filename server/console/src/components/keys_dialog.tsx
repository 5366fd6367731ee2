import { currentShortcuts, hasLetters, setLetters } from "../keys.ts";
import { t } from "../texts.ts";
import { VIEWS } from "../views.ts";
import { Dialog } from "./dialog.tsx";

const SYMBOLS: Record<string, string> = {
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

/** The shortcuts that work now, and the switch for single letters. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  const views = VIEWS.filter((view) => view.letter).map((view) => ({
    keys: [`g ${view.letter}`],
    text: t("keys.goTo", { view: t(view.title) }),
  }));
  const others = currentShortcuts().map(({ keys, text }) => ({ keys, text: text ? t(text) : "" }));
  return (
    <Dialog title={t("keys.title")} onClose={onClose}>
      <dl class="keys">
        {[...others, ...views].map(({ keys, text }) => (
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
      <label class="option">
        <input
          type="checkbox"
          checked={hasLetters.value}
          onChange={(event) => setLetters(event.currentTarget.checked)}
        />
        {t("keys.letters")}
      </label>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("close")}
        </button>
      </div>
    </Dialog>
  );
}
