import { Icon } from "../components/icon.tsx";
import { href } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { isAdmin } from "../session.ts";
import { t } from "../texts.ts";
import { AccountSettings } from "./settings/account.tsx";
import { AuditLog } from "./settings/audit.tsx";
import { Keys } from "./settings/keys.tsx";
import { Sessions } from "./settings/sessions.tsx";

const PARTS = {
  account: AccountSettings,
  sessions: Sessions,
  keys: Keys,
  audit: AuditLog,
} as const;
type Part = keyof typeof PARTS;

/** Settings of the account, who has access, and what was done. */
export function Settings({ part }: Parameters) {
  const current = (part ?? "account") as Part;
  const Shown = PARTS[current];
  return (
    <div class="page wide-page">
      <h1>{t("settings.title")}</h1>
      <nav class="choices-row" aria-label={t("settings.title")}>
        {(Object.keys(PARTS) as Part[]).map((each) => (
          <a
            key={each}
            href={href(`/settings/${each}`)}
            ref={each === current ? show : undefined}
            aria-current={each === current ? "page" : undefined}
          >
            {t(`settings.${each}`)}
          </a>
        ))}
      </nav>
      {!Shown ? (
        <p>{t("missing.title")}</p>
      ) : isAdmin.value || current === "account" ? (
        <Shown />
      ) : (
        <p class="muted">
          <Icon name="stop" /> {t("settings.adminsOnly")}
        </p>
      )}
    </div>
  );
}

/** Scrolls to the current part, because a phone is narrower than all of them. */
function show(link: HTMLElement | null): void {
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
}
