import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { GetSubscriberMailabilityResponse, Suppression } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { go, href, withQuery } from "../../router.ts";
import { canWrite, isAdmin } from "../../session.ts";
import { named, parts, plural, t } from "../../texts.ts";
import { isAddress } from "../subscribers/search_text.ts";

interface Answer {
  mailability: GetSubscriberMailabilityResponse;
  suppression: Suppression | null;
  isInList: boolean;
}

/** Whether an address is blocked, and since when and why. */
export function LookUp({
  email,
  version,
  onLift,
  onBlock,
}: {
  email: string;
  /** Changes when suppressions were changed. */
  version: number;
  onLift: () => void;
  onBlock: () => void;
}) {
  const text = useSignal(email);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (!email) field.current?.focus();
    text.value = email;
  }, [email]);
  return (
    <section class="block" aria-label={t("suppressions.question")}>
      <form
        class="look-up"
        onSubmit={(event) => {
          event.preventDefault();
          go(withQuery({ email: text.value.trim() }));
        }}
      >
        <label class="field">
          <span class="question">{t("suppressions.question")}</span>
          <input
            ref={field}
            type="email"
            required
            dir="auto"
            autocomplete="off"
            maxLength={320}
            placeholder="name@example.com"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        <button class="main">{t("suppressions.check")}</button>
      </form>
      {isAddress(email) ? (
        <Result key={email} email={email} version={version} onLift={onLift} onBlock={onBlock} />
      ) : (
        email && (
          <p class="error" role="alert">
            {plural("block.rejected", 1)}
          </p>
        )
      )}
    </section>
  );
}

function Result({
  email,
  version,
  onLift,
  onBlock,
}: {
  email: string;
  version: number;
  onLift: () => void;
  onBlock: () => void;
}) {
  const loaded = useLoaded(async (signal): Promise<Answer> => {
    const path = { id: email };
    const mailability = await call("GET /api/subscribers/{id}/mailability", { path, signal });
    if (!mailability.suppressed) return { mailability, suppression: null, isInList: mailability.reason !== "NOT_SUBSCRIBED" };
    const filter = `email = "${email.replace(/["\\]/g, "\\$&")}"`;
    const [{ suppression }, { total }] = await Promise.all([
      call("GET /api/suppressions/{id}", { path, signal }),
      call("GET /api/subscribers", { query: { filter, limit: 1, total: "EXACT" }, signal }),
    ]);
    return { mailability, suppression, isInList: Boolean(total) };
  }, String(version));
  const answer = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => announce(linesOf(answer.current)), [loaded.data]);
  return (
    <Part of={loaded} bars={2}>
      {({ mailability: { reason, since, mayBeMailed }, suppression, isInList }) => {
        const why = suppression ? named("blockedBy", suppression.reason) : named("why", reason);
        const at = suppression ? suppression.createdAt : since;
        const kind = suppression ? "blocked" : mayBeMailed ? "mailable" : "";
        const optedOut = !suppression && !["CONFIRMED", "UNCONFIRMED", "NOT_SUBSCRIBED"].includes(reason);
        return (
          <div class={`answer ${kind}`}>
            <Icon name={suppression || optedOut ? "stop" : mayBeMailed ? "check" : "person"} />
            <div>
              <p ref={answer}>
                <strong>
                  {t(suppression ? "suppressions.yes" : "suppressions.no")}
                  {optedOut && ` ${t("mail.no")}`}
                </strong>{" "}
                {why}
                {at && (
                  <>
                    {" "}
                    {parts(reason === "UNCONFIRMED" && !suppression ? "why.since" : "why.on", {
                      date: <Time value={at} as="date" />,
                    })}
                  </>
                )}
                .
              </p>
              <p class="actions start">
                {isInList && (
                  <a href={href(`/subscribers/${encodeURIComponent(email)}`)}>{t("suppressions.person")}</a>
                )}
                {suppression && isAdmin.value && (
                  <button type="button" onClick={onLift}>
                    {t("lift.button")}…
                  </button>
                )}
                {!suppression && canWrite.value && (
                  <button type="button" onClick={onBlock}>
                    {t("suppressions.block")}…
                  </button>
                )}
              </p>
            </div>
          </div>
        );
      }}
    </Part>
  );
}
