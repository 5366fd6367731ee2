import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { notify } from "../announce.ts";
import { copy } from "../copying.ts";
import { isPhone } from "../phone.ts";
import { chooseTheme, theme, THEMES } from "../preferences.ts";
import { isAdmin, session, signOut, signOutEverywhere } from "../session.ts";
import { choose, errorText, language, type Language, LANGUAGES, named, parts, t } from "../texts.ts";
import { FormDialog } from "./form_dialog.tsx";
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
        <button type="button" onClick={() => void signOut().catch((error) => notify(errorText(error)))}>
          {t("account.signOut")}
        </button>
        {isAdmin.value && (
          <button type="button" onClick={() => (asksForAll.value = true)}>
            {t("account.signOutEverywhere")}…
          </button>
        )}
        <hr />
        {isPhone.value && (
          <button type="button" onClick={() => onShow("palette")}>
            {t("palette.placeholder")}
          </button>
        )}
        <button type="button" class="by-mouse" onClick={() => onShow("keys")}>
          {t("keys.title")} <kbd>?</kbd>
        </button>
        <button type="button" onClick={() => void copy(location.href)}>
          {t("account.copyLink")}
        </button>
      </Menu>
      {asksForAll.value && <EverywhereDialog onClose={() => (asksForAll.value = false)} />}
    </>
  );
}

/** Ends all sessions of the account. */
export function EverywhereDialog({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title={t("everywhere.title")}
      verb={t("account.signOutEverywhere")}
      keep={t("everywhere.keep")}
      danger
      onClose={onClose}
      onSubmit={signOutEverywhere}
    >
      <p>{t("everywhere.text")}</p>
    </FormDialog>
  );
}
