import { useSignal } from "@preact/signals";
import { url } from "../api/client.ts";
import type { Suppression } from "../api/types.ts";
import { CopyButton } from "../components/copy_button.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { More, usePaged } from "../components/paged.tsx";
import { Part } from "../components/part.tsx";
import { Time } from "../components/time.tsx";
import { address } from "../router.ts";
import { canWrite, isAdmin } from "../session.ts";
import { named, plural, t } from "../texts.ts";
import { BlockDialog } from "./suppressions/block_dialog.tsx";
import { LiftDialog } from "./suppressions/lift_dialog.tsx";
import { LookUp } from "./suppressions/look_up.tsx";

const LIMIT = 100;
const ICONS: Record<Suppression["reason"], IconName> = {
  UNSUBSCRIBED: "stop",
  BOUNCED: "bounce",
  COMPLAINED: "flag",
  MANUAL: "shield",
};

/** Whether an address is blocked, and the blocked addresses, of which only hashes are stored. */
export function Suppressions() {
  const email = address.value.query.get("email") ?? "";
  const version = useSignal(0);
  const lifts = useSignal<string | null>(null);
  const blocks = useSignal<string | null>(null);
  const total = useSignal(0);
  const paged = usePaged("GET /api/suppressions", { limit: LIMIT }, (body) => {
    total.value = body.total ?? total.value;
    return body.suppressions;
  });
  function changed(): void {
    version.value += 1;
    paged.reload();
  }

  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("suppressions.title")}</h1>
        {canWrite.value && (
          <button type="button" onClick={() => (blocks.value = "")}>
            {t("block.title")}…
          </button>
        )}
      </header>
      <LookUp
        email={email}
        version={version.value}
        onLift={() => (lifts.value = email)}
        onBlock={() => (blocks.value = email)}
      />
      <Part of={paged} bars={6}>
        {(shown) => (
          <section class="block" aria-labelledby="blocked">
            <header>
              <h2 id="blocked">{plural("suppressions.total", total.value)}</h2>
              {shown.length > 0 && (
                <a href={url("/api/suppressions/export", {}, { format: "CSV" })} download="suppressions.csv">
                  {t("suppressions.export")}
                </a>
              )}
            </header>
            <p class="hint">{t("suppressions.why")}</p>
            {shown.length > 0 && <Table shown={shown} onLift={(hash) => (lifts.value = hash)} />}
            {paged.more && (
              <p>
                <More paged={paged} />
              </p>
            )}
          </section>
        )}
      </Part>
      {lifts.value !== null && (
        <LiftDialog
          id={lifts.value}
          name={lifts.value.includes("@") ? <bdi dir="auto">{lifts.value}</bdi> : <code>{short(lifts.value)}</code>}
          onClose={() => (lifts.value = null)}
          onLifted={changed}
        />
      )}
      {blocks.value !== null && (
        <BlockDialog start={blocks.value} onClose={() => (blocks.value = null)} onBlocked={changed} />
      )}
    </div>
  );
}

function short(hash: string): string {
  return hash.slice(0, 8);
}

function Table({ shown, onLift }: { shown: Suppression[]; onLift: (hash: string) => void }) {
  return (
    <table class="table records">
      <thead>
        <tr>
          <th>{t("suppressions.reason")}</th>
          <th>{t("suppressions.date")}</th>
          <th class="wide">{t("suppressions.hash")}</th>
          {isAdmin.value && (
            <th>
              <span class="unseen">{t("actions")}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {shown.map(({ emailHash, reason, createdAt }) => (
          <tr key={emailHash}>
            <td class="grow">
              <span class={`status ${reason === "MANUAL" ? "unsubscribed" : reason.toLowerCase()}`}>
                <Icon name={ICONS[reason]} />
                {named("suppressedBy", reason)}
              </span>
            </td>
            <td>
              <Time value={createdAt} as="date" />
            </td>
            <td class="wide">
              <code title={emailHash}>{short(emailHash)}</code>
              <CopyButton text={emailHash} title={t("suppressions.copyHash", { hash: short(emailHash) })} />
            </td>
            {isAdmin.value && (
              <td class="number">
                <button
                  type="button"
                  class="plain"
                  aria-label={t("suppressions.liftHash", { hash: short(emailHash) })}
                  onClick={() => onLift(emailHash)}
                >
                  {t("suppressions.lift")}…
                </button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
