import type { Webhook, WebhookAttempt, WebhookHealth, WebhookHealthAttempt } from "../../api/types.ts";
import { now } from "../../clock.ts";
import type { IconName } from "../../components/icon.tsx";
import { StateLabel } from "../../components/state_label.tsx";
import { Time } from "../../components/time.tsx";
import { named, number, parts, percent, plural, t } from "../../texts.ts";

/** Attempts are stored for 14 days. */
const ATTEMPTS_KEPT = 14 * 86_400_000;
type Kind = "good" | "bad" | "idle" | "unused";
const ICONS: Record<Kind, IconName> = { good: "check", bad: "warning", idle: "stop", unused: "clock" };

/** The state of an endpoint as a color, a shape and a word. */
export function HealthLabel({ webhook, health }: { webhook: Webhook; health: WebhookHealth | undefined }) {
  const kind = kindOf(webhook, health);
  const failingSince = health?.failingSince ?? webhook.failingSince;
  return (
    <StateLabel icon={ICONS[kind]} kind={kind === "unused" ? "paused" : kind}>
      {kind === "bad" && failingSince ? (
        <span>{parts("webhook.since", { time: <Time value={failingSince} /> })}</span>
      ) : (
        t(`health.${kind}`)
      )}
    </StateLabel>
  );
}

function kindOf(webhook: Webhook, health: WebhookHealth | undefined): Kind {
  if (!webhook.enabled) return "idle";
  if (webhook.failingSince || health?.failingSince) return "bad";
  const isNew = Date.parse(webhook.createdAt) > now() - ATTEMPTS_KEPT;
  return isNew && health && !health.latestAttempts.length ? "unused" : "good";
}

/** The health of an endpoint in a sentence: why it fails, what waits, and what happens next. */
export function HealthText({ webhook, health }: { webhook: Webhook; health: WebhookHealth }) {
  const waiting = health.waiting > 0 && ` ${plural("health.waiting", health.waiting)}`;
  if (!webhook.enabled) {
    return (
      <>
        {t(webhook.disabledReason ? `health.disabled.${webhook.disabledReason}` : "health.disabled")}
        {waiting}
      </>
    );
  }
  const { state, failingSince, lastError, lastHttpStatus, nextAttemptAt } = health;
  if (!failingSince) {
    const last = health.latestAttempts[0];
    return (
      <>
        {last ? parts("health.since", { time: <Time value={last.startedAt} as="ago" /> }) : t("health.none")}
        {waiting}
      </>
    );
  }
  return (
    <>
      {parts("health.failing", {
        reason: <span dir="auto">{lastError ?? lastHttpStatus}</span>,
      })}
      {state === "PAUSED" && ` ${t("health.paused")}`}
      {waiting}
      {nextAttemptAt && (
        <> {parts("health.next", { time: <Time value={nextAttemptAt} as="ago" /> })}</>
      )}
    </>
  );
}

/** How many attempts of the last 24 hours succeeded. */
export function SuccessRate({ health }: { health: WebhookHealth }) {
  const attempts = health.succeededAttempts + health.failedAttempts;
  if (typeof health.successRate !== "number") return <small>{t("rate.none")}</small>;
  return (
    <p class="rate">
      <b>{percent(health.successRate)}</b>{" "}
      <small>{plural("rate.of", attempts)}</small>
    </p>
  );
}

/** The latest attempts as dots, the newest at the end. Failed ones are higher and have another color. */
export function Dots({ attempts }: { attempts: WebhookHealthAttempt[] }) {
  if (!attempts.length) return null;
  const failed = attempts.filter((attempt) => attempt.error).length;
  const label = t("dots.label", {
    count: number(attempts.length),
    failed: number(failed),
  });
  return (
    <svg class="dots" width={attempts.length * 6} height={16} role="img" aria-label={label}>
      {attempts.map((attempt, index) => {
        const height = attempt.error ? 16 : 8;
        return (
          <rect
            key={attempt.deliveryId + attempt.number}
            class={attempt.error ? "bad" : "good"}
            x={(attempts.length - 1 - index) * 6}
            y={16 - height}
            width={4}
            height={height}
            rx={2}
          >
            <title>{`${attempt.startedAt} · ${resultOf(attempt)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

type Result = Pick<WebhookAttempt, "httpStatus" | "error" | "durationMs">;

/** The result of an attempt as a color, a shape and words. */
export function AttemptLabel({ attempt }: { attempt: Result }) {
  return (
    <StateLabel icon={attempt.error ? "warning" : "check"} kind={attempt.error ? "bad" : "good"}>
      {resultOf(attempt)}
    </StateLabel>
  );
}

/** Returns the result of an attempt, such as `503 · 84 ms`. */
export function resultOf(attempt: Result): string {
  const result = attempt.httpStatus ?? (attempt.error ? attempt.error : named("delivery", "SUCCEEDED"));
  return `${result} · ${number(attempt.durationMs)} ms`;
}
