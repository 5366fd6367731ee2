import { useSignal } from "@preact/signals";
import { notify } from "../announce.ts";
import { call, url } from "../api/client.ts";
import type { Suppression } from "../api/types.ts";
import { CopyButton } from "../components/copy_button.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { Part } from "../components/part.tsx";
import { Time } from "../components/time.tsx";
import { useLoaded } from "../load.ts";
import { address } from "../router.ts";
import { canWrite, isAdmin } from "../session.ts";
import { errorText, named, plural, t } from "../texts.ts";
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

interface Shown {
  suppressions: Suppression[];
  total: number;
  pages: number;
}

/** Whether an address is blocked, and the blocked addresses, of which only hashes are stored. */
export function Suppressions() {
  const email = address.value.query.get("email") ?? "";
  const version = useSignal(0);
  const lifts = useSignal<string | null>(null);
  const blocks = useSignal<string | null>(null);
  const loaded = useLoaded((signal) => read(1, signal), String(version.value));
  const changed = () => (version.value += 1);

  async function showMore(shown: Shown): Promise<void> {
    try {
      const next = await read(shown.pages + 1);
      loaded.replace({ ...next, suppressions: [...shown.suppressions, ...next.suppressions] });
    } catch (error) {
      notify(errorText(error));
    }
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
        key={email}
        email={email}
        version={version.value}
        onLift={() => (lifts.value = email)}
        onBlock={() => (blocks.value = email)}
      />
      <Part of={loaded} bars={6}>
        {(shown) => (
          <section class="block" aria-labelledby="blocked">
            <header>
              <h2 id="blocked">{plural("suppressions.total", shown.total)}</h2>
              {shown.total > 0 && (
                <a href={url("/api/suppressions/export", {}, { format: "CSV" })} download="suppressions.csv">
                  {t("suppressions.export")}
                </a>
              )}
            </header>
            <p class="hint">{t("suppressions.why")}</p>
            {shown.total > 0 && <Table shown={shown.suppressions} onLift={(hash) => (lifts.value = hash)} />}
            {shown.suppressions.length < shown.total && (
              <p>
                <button type="button" onClick={() => void showMore(shown)}>
                  {plural("suppressions.more", Math.min(LIMIT, shown.total - shown.suppressions.length))}
                </button>
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

async function read(page: number, signal?: AbortSignal): Promise<Shown> {
  const { suppressions, total = 0 } = await call("GET /api/suppressions", { query: { limit: LIMIT, page }, signal });
  return { suppressions, total, pages: page };
}

function short(hash: string): string {
  return hash.slice(0, 8);
}

function Table({ shown, onLift }: { shown: Suppression[]; onLift: (hash: string) => void }) {
  return (
    <table class="table records">
      <thead>
        <tr>
          <th scope="col">{t("suppressions.reason")}</th>
          <th scope="col">{t("suppressions.date")}</th>
          <th scope="col" class="wide">
            {t("suppressions.hash")}
          </th>
          {isAdmin.value && (
            <th scope="col">
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
