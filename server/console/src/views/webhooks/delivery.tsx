import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { Event, WebhookAttempt, WebhookDelivery } from "../../api/types.ts";
import { now } from "../../clock.ts";
import { Back } from "../../components/back.tsx";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { copy } from "../../copying.ts";
import { useShortcuts } from "../../keys.ts";
import { useLoaded } from "../../load.ts";
import { href, lastShown } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { ago, errorText, number, parts, t } from "../../texts.ts";
import { DeliveryLabel } from "./delivery_label.tsx";
import { AttemptLabel } from "./health.tsx";
import { deliveryCommand, findEvent } from "./requests.ts";

/** One delivery: its request, and what came back in each attempt. */
export function Delivery({ id, webhookId }: { id: string; webhookId: string }) {
  const loaded = useLoaded(
    async (signal) => {
      const [found, { webhook }] = await Promise.all([
        call("GET /api/webhook-deliveries/{id}", { path: { id }, signal }),
        call("GET /api/webhooks/{id}", { path: { id: webhookId }, signal }),
      ]);
      return { ...found, webhook };
    },
    id,
    (data) => {
      if (!data || !["PENDING", "SENDING"].includes(data.delivery.state)) return 0;
      const isLate = Date.parse(data.delivery.nextAttemptAt ?? "") < now() - 10_000;
      return isDue(data.delivery) && !isLate ? 1 : 2;
    },
  );
  const delivery = loaded.data?.delivery;
  const event = useLoaded(
    async (signal) => (delivery ? findEvent(delivery.eventId, signal) : undefined),
    delivery?.eventId,
  );
  const next = delivery?.nextAttemptAt;
  const health = useLoaded(
    async (signal) => (next ? (await call("GET /api/webhooks/{id}/health", { path: { id: webhookId }, signal })).health : undefined),
    next,
  );
  const isBusy = useSignal(false);
  const webhook = loaded.data?.webhook;
  const copyCurl = () => void (webhook && event.data && copy(deliveryCommand(webhook.url, event.data)));
  useShortcuts([{ keys: ["y"], text: "keys.copyCurl", when: () => Boolean(event.data), run: copyCurl }]);

  async function retry(): Promise<void> {
    isBusy.value = true;
    try {
      const { delivery } = await call("POST /api/webhook-deliveries/{id}/retry", { path: { id } });
      const next = delivery.nextAttemptAt;
      const isPaused = next && !isDue(delivery);
      const isDisabled = delivery.state === "PENDING" && !next;
      const wait = isPaused ? "paused" : isDisabled ? "disabled" : "retried";
      notify(t(`delivery.${wait}`, { time: next ? ago(next) : "" }));
      loaded.reload();
    } catch (error) {
      notify(errorText(error));
    }
    isBusy.value = false;
  }

  // The list of one endpoint or of all.
  const list = lastShown(`/webhooks/${webhookId}`, "/webhooks").split(/[?#]/)[0] ?? "";
  return (
    <div class="page wide-page">
      <Back to={list}>
        <bdi dir="auto" class="lines">{(list !== "/webhooks" && loaded.data?.webhook.url) || t("webhooks.title")}</bdi>
      </Back>
      <Part of={loaded} bars={6}>
        {({ delivery, attempts }) => (
          <>
            <header class="page-head">
              <h1>{delivery.eventType}</h1>
              <DeliveryLabel delivery={delivery} />
              <div class="line">
                {canWrite.value && (
                  <button
                    type="button"
                    class={delivery.state === "FAILED" ? "main" : ""}
                    disabled={isBusy.value || delivery.state === "SENDING"}
                    onClick={() => void retry()}
                  >
                    {t("retryDelivery")}
                  </button>
                )}
                <button type="button" disabled={!event.data} title={t("curl.signed")} onClick={copyCurl}>
                  <Icon name="copy" />
                  {t("curl")}
                </button>
              </div>
            </header>
            <dl class="facts">
              {list === "/webhooks" && (
                <Fact title={t("endpoint")}>
                  <a href={href(`/webhooks/${webhookId}`)}>
                    <bdi dir="auto">{webhook?.url}</bdi>
                  </a>
                </Fact>
              )}
              <Fact title={t("event.id")}>
                <code>{delivery.eventId}</code>{" "}
                <a href={href(`/webhooks?event=${delivery.eventId}`)}>{t("delivery.others")}</a>
              </Fact>
              <Person event={event.data} />
              <Fact title={t("created")}>
                <Time value={delivery.createdAt} />
                {delivery.operationId && (
                  <>
                    {" · "}
                    <a href={href(`/activity/${delivery.operationId}`)}>{t("delivery.replay")}</a>
                  </>
                )}
              </Fact>
              {delivery.nextAttemptAt && (
                <Fact title={t("attempt.next")}>
                  <Time value={delivery.nextAttemptAt} as="ago" />
                  {health.data?.state === "PAUSED" && <small class="below">{t("health.paused")}</small>}
                </Fact>
              )}
            </dl>
            <section aria-labelledby="attempts">
              <h2 id="attempts">{t("attempts")}</h2>
              {!attempts.length && <p class="muted">{t(delivery.attemptCount ? "attempts.none" : "attempts.notYet")}</p>}
              {attempts.toReversed().map((attempt, index) => (
                <Attempt key={attempt.number} attempt={attempt} isOpen={index === 0} />
              ))}
            </section>
            <section aria-labelledby="body">
              <h2 id="body">{t("request.body")}</h2>
              <Part of={event}>
                {(found) =>
                  found ? (
                    <pre dir="auto" tabIndex={0} aria-labelledby="body">
                      {JSON.stringify(found, null, 2)}
                    </pre>
                  ) : found === null ? (
                    <p class="muted">{t("request.notStored")}</p>
                  ) : null
                }
              </Part>
            </section>
          </>
        )}
      </Part>
    </div>
  );
}

/** Whether the next attempt begins soon. The pause after failures is at least 30 seconds long. */
function isDue({ state, nextAttemptAt = "" }: WebhookDelivery): boolean {
  return state === "SENDING" || Date.parse(nextAttemptAt) < now() + 10_000;
}

/** The person of an event, if it is about one. */
function Person({ event }: { event: Event | null | undefined }) {
  const person = event?.data.subscriber as { id?: string; email?: string } | undefined;
  if (!person?.id) return null;
  return (
    <Fact title={t("person")}>
      <a href={href(`/subscribers/${person.id}`)}>
        <bdi dir="auto">{person.email || person.id}</bdi>
      </a>
    </Fact>
  );
}

function Attempt({ attempt, isOpen }: { attempt: WebhookAttempt; isOpen: boolean }) {
  const headers = Object.entries(attempt.requestHeaders);
  return (
    <details class="attempt" open={isOpen}>
      <summary>
        <AttemptLabel attempt={attempt} />
        <span>{parts("attempt.number", { number: number(attempt.number) })}</span>
        <Time value={attempt.startedAt} />
      </summary>
      {attempt.error && attempt.httpStatus && attempt.error !== `HTTP ${attempt.httpStatus}` && (
        <p class="error">{attempt.error}</p>
      )}
      <h3>{t("response")}</h3>
      {attempt.responseBody ? (
        <pre dir="auto" tabIndex={0}>
          {attempt.responseBody}
        </pre>
      ) : (
        <p class="muted">{t(attempt.httpStatus ? "response.empty" : "response.none")}</p>
      )}
      <h3>{t("request.headers")}</h3>
      {headers.length ? (
        <dl class="headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p class="muted">{t("request.noHeaders")}</p>
      )}
    </details>
  );
}
