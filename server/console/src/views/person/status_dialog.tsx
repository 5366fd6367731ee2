import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { notify } from "../../announce.ts";
import type { GetSubscriberMailabilityResponse, Subscriber } from "../../api/types.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { named, parts, t } from "../../texts.ts";
import { Conflict, type PersonData } from "./person_data.ts";

type Status = Subscriber["status"];
const SUBSCRIBED: readonly Status[] = ["CONFIRMED", "UNCONFIRMED"];
const OPTED_OUT: readonly Status[] = ["UNSUBSCRIBED", "COMPLAINED", "BOUNCED"];
/** The first of these that is allowed is selected: only a choice makes a person one who gets mail. */
const USUAL: readonly Status[] = ["UNSUBSCRIBED", "UNCONFIRMED", "CONFIRMED", "BOUNCED", "COMPLAINED"];

export function canSubscribeAgain({ status }: Subscriber, { allowedStatuses }: GetSubscriberMailabilityResponse): boolean {
  return OPTED_OUT.includes(status) && SUBSCRIBED.some((each) => allowedStatuses.includes(each));
}

/** Changes the status. Subscribing a person who opted out requires how the person asked for it. */
export function StatusDialog({
  data,
  subscriber,
  mailability,
  isByKey,
  onClose,
}: {
  data: PersonData;
  subscriber: Subscriber;
  mailability: GetSubscriberMailabilityResponse;
  /** Whether a key opened it, after which a person types at once. Otherwise, the choices come first. */
  isByKey: boolean;
  onClose: () => void;
}) {
  const id = useId();
  const allowed = USUAL.filter((status) => mailability.allowedStatuses.includes(status));
  const chosen = useSignal<Status | undefined>(allowed[0]);
  const source = useSignal("");
  // The status that was stored meanwhile.
  const theirs = useSignal<Status | null>(null);
  const status = chosen.value;
  const hasOptedOut = OPTED_OUT.includes(subscriber.status);
  const subscribes = status !== undefined && SUBSCRIBED.includes(status);
  const needsConsent = hasOptedOut && subscribes;
  const since = mailability.since ?? subscriber.statusChangedAt ?? subscriber.createdAt;
  const date = <Time value={since} as="date" />;
  return (
    <FormDialog
      title={
        <>
          {t("status.change")}: <bdi dir="auto">{subscriber.email}</bdi>
        </>
      }
      verb={status && (needsConsent && status === "CONFIRMED" ? t("status.recordConsent") : parts(`status.do.${status}`, {}))}
      danger={!subscribes}
      keep={t("cancel")}
      onClose={onClose}
      onSubmit={async () => {
        if (!status) return false;
        theirs.value = null;
        try {
          await data.changeStatus(status, source.value.trim());
        } catch (problem) {
          if (!(problem instanceof Conflict)) throw problem;
          theirs.value = problem.theirs as Status;
          return false;
        }
        notify(t("status.changed", { status: named("status", status) }));
        return true;
      }}
    >
      {hasOptedOut && (
        <p>
          {subscriber.status === "UNSUBSCRIBED" && mailability.actor?.type === "PERSON" ? (
            parts("status.optedOutSelf", { name: <bdi>{subscriber.firstName || t("person.title")}</bdi>, date })
          ) : (
            <>
              {named("status.optedOut", subscriber.status)} {date}
              {mailability.actor && <> {parts("why.by", { actor: <ActorName actor={mailability.actor} /> })}</>}.
            </>
          )}{" "}
          {t("status.onlyIfAsked")}
        </p>
      )}
      {!allowed.length && <p>{t("status.noneAllowed")}</p>}
      <div class="options" role="radiogroup" aria-label={t("column.status")}>
        {allowed.map((status) => (
          <label class="option" key={status}>
            <input
              type="radio"
              name={id}
              value={status}
              checked={chosen.value === status}
              onChange={() => (chosen.value = status)}
            />
            <StatusLabel status={status} />
            <small>{named("statusMeaning", status)}</small>
          </label>
        ))}
      </div>
      {allowed.length > 0 && (
        <label class="field">
          {t("status.source")} <small>{t(needsConsent ? "required" : "optional")}</small>
          <input
            dir="auto"
            autofocus={needsConsent && isByKey}
            maxLength={200}
            required={needsConsent}
            placeholder={t("status.sourceExample")}
            value={source.value}
            onInput={(event) => (source.value = event.currentTarget.value)}
          />
        </label>
      )}
      {theirs.value && status && (
        <p class="changed" role="alert">
          {t("field.conflict", { theirs: named("status", theirs.value), mine: named("status", status) })}
        </p>
      )}
    </FormDialog>
  );
}
