import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { callTagged, url } from "../../api/client.ts";
import type { Account } from "../../api/types.ts";
import { Problem } from "../../components/form_dialog.tsx";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { useLoaded } from "../../load.ts";
import { isAdmin, load } from "../../session.ts";
import { language, named, t } from "../../texts.ts";

const DEFAULT_COLOR = "#1a5fb4";
const MAX_LOGO = 65_536;
const PAGES = ["SIGNED_UP", "CONFIRM", "UNSUBSCRIBE", "ENDED"];

/** How the sender appears on the pages that links open. */
export function AccountSettings() {
  const loaded = useLoaded((signal) => callTagged("GET /api/account", { signal }));
  return (
    <Part of={loaded}>
      {({ body, etag }) => (
        <AccountForm key={etag} account={body.account} etag={etag} onSaved={loaded.reload} />
      )}
    </Part>
  );
}

function AccountForm({
  account,
  etag,
  onSaved,
}: {
  account: Account;
  etag: string;
  onSaved: () => void;
}) {
  const name = useSignal(account.displayName);
  const color = useSignal(account.color);
  const logo = useSignal(account.logo);
  const error = useSignal<unknown>(undefined);
  const isTooLarge = useSignal(false);

  async function save(): Promise<void> {
    error.value = undefined;
    try {
      await callTagged("PATCH /api/account", {
        body: { displayName: name.value, color: color.value, logo: logo.value },
        etag,
      });
      notify(t("saved"));
      void load();
      onSaved();
    } catch (problem) {
      error.value = problem;
    }
  }

  async function takeLogo(file: File | undefined): Promise<void> {
    isTooLarge.value = Boolean(file && file.size > MAX_LOGO);
    if (!file || isTooLarge.value) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    logo.value = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }

  return (
    <div class="columns-2">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <p>{t("account.text")}</p>
        <fieldset class="form" role="none" disabled={!isAdmin.value}>
          <label class="field">
            {t("account.name")}
            <input
              dir="auto"
              maxLength={100}
              value={name.value}
              onInput={(event) => (name.value = event.currentTarget.value)}
            />
          </label>
          <div class="field">
            <label for="color">{t("account.color")}</label>
            <div class="line">
              <input
                id="color"
                type="color"
                value={color.value || DEFAULT_COLOR}
                onInput={(event) => (color.value = event.currentTarget.value)}
              />
              {color.value && (
                <button type="button" aria-label={`${t("account.color")}: ${t("account.default")}`} onClick={() => (color.value = "")}>
                  {t("account.default")}
                </button>
              )}
            </div>
          </div>
          <div class="field">
            <label for="logo">{t("account.logo")}</label>
            <div class="line">
              <input
                id="logo"
                type="file"
                accept="image/png,image/jpeg,image/gif,image/webp"
                onChange={(event) => void takeLogo(event.currentTarget.files?.[0])}
              />
              {logo.value && (
                <button type="button" aria-label={`${t("account.logo")}: ${t("remove")}`} onClick={() => (logo.value = "")}>
                  {t("remove")}
                </button>
              )}
            </div>
            <small class={isTooLarge.value ? "error" : ""} role={isTooLarge.value ? "alert" : undefined}>
              {t("account.logo.hint")}
            </small>
          </div>
        </fieldset>
        <Problem error={error.value} />
        {isAdmin.value && (
          <div class="line">
            <button class="main">{t("save")}</button>
          </div>
        )}
        <dl class="facts">
          <Fact title={t("account.owner")}>
            <bdi dir="auto">{account.email}</bdi>{" "}
            <small>{t(account.emailVerified ? "account.verified" : "account.unverified")}</small>
          </Fact>
          <Fact title={t("account.id")}>
            <code>{account.id}</code>
          </Fact>
        </dl>
      </form>
      <div class="block">
        <Preview name={name.value || account.email} color={color.value} logo={logo.value} />
        <Pages />
      </div>
    </div>
  );
}

/** The saved pages as people see them, each in a new tab. */
function Pages() {
  return (
    <nav class="block" aria-labelledby="pages">
      <h2 id="pages">{t("account.pages")}</h2>
      <ul class="entries">
        {PAGES.map((page) => (
          <li key={page}>
            <a href={url("/api/account/page-preview", {}, { page, language: language.value })} target="_blank">
              {named("account.page", page)}
            </a>
            <Icon name="external" />
          </li>
        ))}
      </ul>
      <small>{t("account.pages.hint")}</small>
    </nav>
  );
}

/** The page on which a person unsubscribes, in short. */
function Preview({ name, color, logo }: { name: string; color: string; logo: string }) {
  const background = color || DEFAULT_COLOR;
  return (
    <figure class="preview">
      <figcaption class="hint">{t("account.preview")}</figcaption>
      <div>
        {logo && <img src={`data:image/png;base64,${logo}`} alt="" />}
        <p class="sender" dir="auto">
          {name}
        </p>
        <p>{t("account.preview.text")}</p>
        <span class="sample" style={{ background, color: readable(background) }}>
          <Icon name="check" />
          {t("account.preview.button")}
        </span>
      </div>
    </figure>
  );
}

/** Returns black or white, the one with the greater contrast, as the pages do. */
function readable(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? "#ffffff" : "#000000";
}
