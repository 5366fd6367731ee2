import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { notify } from "../announce.ts";
import { copy } from "../copying.ts";
import { isPhone } from "../phone.ts";
import { chooseTheme, theme, THEMES } from "../preferences.ts";
import { isAdmin, session, signOut, signOutEverywhere } from "../session.ts";
import { choose, errorText, language, type Language, LANGUAGES, named, parts, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { Menu } from "./menu.tsx";
import { Select } from "./select.tsx";
import { Time } from "./time.tsx";

/** Who is signed in, with language, theme and the ways to sign out. */
export function AccountMenu({ children, isCurrent, onShow }: {
  /** Links to views that have no place of their own on a phone. */
  children: ComponentChildren;
  /** Whether one of them is shown. */
  isCurrent: boolean;
  /** Shows the shortcuts or the commands. */
  onShow: (what: "keys" | "palette") => void;
}) {
  const asksForAll = useSignal(false);
  const current = session.value?.session;
  if (!current) return null;

  async function run(action: () => Promise<void>): Promise<void> {
    asksForAll.value = false;
    try {
      await action();
    } catch (error) {
      notify(errorText(error));
    }
  }

  return (
    <>
      <Menu
        class={isCurrent ? "account current" : "account"}
        label={
          isPhone.value ? (
            <>
              <Icon name="more" />
              {t("navigation.more")}
            </>
          ) : (
            <>
              <Icon name="person" />
              <span class="who">
                <bdi dir="auto">{current.name}</bdi> <small>{named("scope", current.scope)}</small>
              </span>
            </>
          )
        }
      >
        {isPhone.value && children}
        <p class="about">
          {isPhone.value && <bdi dir="auto">{current.name}</bdi>}
          <bdi dir="auto">{session.value?.account.displayName || session.value?.account.email}</bdi>
          <small>{parts("account.until", { time: <Time value={current.expiresAt} /> })}</small>
        </p>
        <label>
          {t("account.language")}
          <select
            value={language.value}
            onChange={(event) => void choose(event.currentTarget.value as Language)}
          >
            {Object.entries(LANGUAGES).map(([code, name]) => (
              <option value={code} lang={code}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Select
          class=""
          label={t("account.theme")}
          value={theme.value}
          choices={THEMES.map((each) => [each, t(`theme.${each || "system"}`)])}
          onChoose={(chosen) => chooseTheme(chosen as (typeof THEMES)[number])}
        />
        <hr />
        {isPhone.value && (
          <button type="button" onClick={() => onShow("palette")}>
            {t("palette.placeholder")}
          </button>
        )}
        <button type="button" onClick={() => onShow("keys")}>
          {t("keys.title")} <kbd>?</kbd>
        </button>
        <button type="button" onClick={() => void copy(location.href)}>
          {t("account.copyLink")}
        </button>
        <hr />
        <button type="button" onClick={() => void run(signOut)}>
          {t("account.signOut")}
        </button>
        {isAdmin.value && (
          <button type="button" onClick={() => (asksForAll.value = true)}>
            {t("account.signOutEverywhere")}…
          </button>
        )}
      </Menu>
      {asksForAll.value && (
        <Dialog title={t("everywhere.title")} onClose={() => (asksForAll.value = false)}>
          <p>{t("everywhere.text")}</p>
          <div class="actions">
            <button type="button" onClick={() => (asksForAll.value = false)}>
              {t("everywhere.keep")}
            </button>
            <button type="button" class="main danger" onClick={() => void run(signOutEverywhere)}>
              {t("account.signOutEverywhere")}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
