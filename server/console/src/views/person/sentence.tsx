import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import type { Actor, GetSubscriberMailabilityResponse, Subscriber } from "../../api/types.ts";
import { elapsedDays } from "../../clock.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { Icon, type IconName } from "../../components/icon.tsx";
import { Time } from "../../components/time.tsx";
import { canWrite, isAdmin } from "../../session.ts";
import { named, parts, plural, t } from "../../texts.ts";
import { copyLater } from "./copy.ts";
import { importName } from "./import_name.tsx";
import type { PersonData } from "./person_data.ts";

/** Whether the person may be mailed and why, in words. */
export function Sentence({
  mailability,
  subscriber,
  data,
  onLift,
}: {
  mailability: GetSubscriberMailabilityResponse;
  subscriber: Subscriber | null;
  data: PersonData;
  onLift: () => void;
}) {
  const { reason, since, actor, source, operationId, suppressed, mayBeMailed } = mailability;
  const kind = mayBeMailed ? "yes" : reason === "UNCONFIRMED" ? "wait" : reason === "NOT_SUBSCRIBED" ? "none" : "no";
  const icons: Record<string, IconName> = { yes: "check", wait: "clock", no: "stop", none: "person" };
  // The last change of the status, with the IP address of a person who followed a link.
  const { ip } = data.history.value.find(({ statusChange }) => statusChange?.to === reason) ?? {};
  const isGone = subscriber === null && suppressed;
  const text = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => announce(text.current?.textContent ?? ""), [reason, since, suppressed]);
  return (
    <div class={`sentence ${kind}`}>
      <Icon name={icons[kind] ?? "person"} />
      <div>
        <p ref={text}>
          <strong>{isGone ? t("mail.blocked") : t(`mail.${kind as "yes" | "wait" | "no" | "none"}`)}</strong>{" "}
          {isGone ? named("blockedWhy", reason) : named("why", reason)}
          {since && kind === "wait" ? (
            <Waiting since={since} actor={actor} isAdded={since === subscriber?.createdAt} />
          ) : (
            <>
              {since && <> {parts("why.on", { date: <Time value={since} as="date" /> })}</>}
              {source === "IMPORT" ? (
                <> {parts(since ? "why.byImport" : "why.beforeImport", { file: importName(data, operationId) })}</>
              ) : (
                actor && <> {parts("why.by", { actor: <ActorName actor={actor} /> })}</>
              )}
              {actor?.type === "PERSON" && ip && ` (${t("why.link", { ip })})`}
            </>
          )}
          .
        </p>
        {subscriber && suppressed && reason !== "SUPPRESSED" && <p>{t("mail.alsoBlocked")}</p>}
        <div class="actions start">
          {reason === "UNCONFIRMED" && canWrite.value && (
            <button type="button" onClick={() => void copyLater(() => data.link("CONFIRM"))}>
              <Icon name="link" />
              {t("person.copyConfirm")}
            </button>
          )}
          {suppressed && isAdmin.value && (
            <button type="button" onClick={onLift}>
              {t("lift.button")}…
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

/** How long a person has not confirmed the address, and who added them or set this status. */
function Waiting({ since, actor, isAdded }: { since: string; actor: Actor | undefined; isAdded: boolean }) {
  const days = elapsedDays(since);
  const name = <ActorName actor={actor} />;
  return (
    <>
      {days > 0 && <> {plural("why.forDays", days)}</>} ({parts("why.since", { date: <Time value={since} as="date" /> })}
      {actor && <>; {parts(isAdded ? "why.addedBy" : "why.setBy", { actor: name })}</>})
    </>
  );
}
