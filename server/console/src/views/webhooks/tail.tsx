import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { call, callStream } from "../../api/client.ts";
import type { TailWebhookDeliveriesResponse, Webhook, WebhookDelivery, WebhookHealthAttempt } from "../../api/types.ts";
import { announce } from "../../announce.ts";
import { now } from "../../clock.ts";
import { Back } from "../../components/back.tsx";
import { Select } from "../../components/select.tsx";
import { StateLabel } from "../../components/state_label.tsx";
import { oneStream } from "../../one_stream.ts";
import { address, go, withQuery } from "../../router.ts";
import { clockTime, errorText, number, plural, t } from "../../texts.ts";
import { DeliveryLink } from "./deliveries.tsx";
import { AttemptLabel } from "./health.tsx";

const SHOWN = 500;
const RETRY = 3_000;
/** How often attempts are read while no stream is read, in milliseconds. */
const REFRESH = 60_000;
const LOOKS = {
  live: ["good", "check"],
  lost: ["bad", "warning"],
  elsewhere: ["idle", "stop"],
  paused: ["paused", "stop"],
} as const;

interface Finished {
  delivery: Pick<WebhookDelivery, "id" | "webhookId" | "eventType">;
  attempt: Omit<WebhookHealthAttempt, "deliveryId">;
}

function keyOf({ delivery, attempt }: Finished): string {
  return delivery.id + attempt.number;
}

/** Attempts of both lists, newest first. */
function merged(found: Finished[], list: Finished[]): Finished[] {
  const time = ({ attempt }: Finished) => Date.parse(attempt.startedAt);
  return [...found, ...list].toSorted((a, b) => time(b) - time(a)).slice(0, SHOWN);
}

/**
 * Reads the latest attempts of endpoints, such as those that finished while no stream was read.
 *
 * It lacks what is older than the latest 50 attempts of an endpoint, and attempts of deliveries that are not among the
 * latest 100.
 */
async function latest(ids: string[], webhookId: string, signal: AbortSignal): Promise<Finished[]> {
  if (!ids.length) return [];
  const [{ deliveries }, ...all] = await Promise.all([
    call("GET /api/webhook-deliveries", { query: { limit: 100, webhookId }, signal }),
    ...ids.map((id) => call("GET /api/webhooks/{id}/health", { path: { id }, signal }).catch(() => null)),
  ]);
  const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  return all
    .flatMap((found) => found?.health.latestAttempts ?? [])
    .flatMap((attempt) => {
      const delivery = byId.get(attempt.deliveryId);
      return delivery ? [{ delivery, attempt }] : [];
    });
}

/** Attempts as they finish, newest first. While it is paused, they are collected. */
export function Tail({ webhooks }: { webhooks: Webhook[] }) {
  const webhookId = address.value.query.get("webhook") ?? "";
  const attempts = useSignal<Finished[]>([]);
  const held = useSignal<Finished[]>([]);
  const isPaused = useSignal(false);
  const problem = useSignal("");
  const state = useSignal<"live" | "lost" | "elsewhere">("lost");
  const shown = isPaused.value ? "paused" : state.value;
  const urls = new Map(webhooks.map((webhook) => [webhook.id, webhook.url]));

  const ids = useRef<string[]>([]);
  ids.current = webhookId ? [webhookId] : webhooks.map(({ id }) => id);

  /** Shows attempts that are not shown yet. */
  function add(found: Finished[]): void {
    const known = new Set([...attempts.peek(), ...held.peek()].map(keyOf));
    const list = isPaused.peek() ? held : attempts;
    list.value = merged(found.filter((each) => !known.has(keyOf(each))), list.peek());
  }

  useLayoutEffect(() => {
    const began = now();
    async function catchUp(signal: AbortSignal): Promise<void> {
      const found = await latest(ids.current, webhookId, signal).catch(() => []);
      if (!signal.aborted) add(found.filter(({ attempt }) => Date.parse(attempt.startedAt) > began));
    }
    async function follow(signal: AbortSignal): Promise<void> {
      signal.addEventListener("abort", () => (state.value = "elsewhere"));
      while (!signal.aborted) {
        try {
          const request = { query: { webhookId }, signal };
          await callStream<TailWebhookDeliveriesResponse>(
            "GET /api/webhook-deliveries/tail",
            request,
            () => {
              state.value = "live";
              problem.value = "";
              void catchUp(signal);
            },
            (record) => add([record]),
          );
        } catch (error) {
          if (signal.aborted) return;
          problem.value = errorText(error);
        }
        state.value = "lost";
        await new Promise((resolve) => setTimeout(resolve, RETRY));
      }
    }
    attempts.value = [];
    held.value = [];
    const request = new AbortController();
    const timer = setInterval(() => {
      if (!document.hidden && state.value !== "live") void catchUp(request.signal);
    }, REFRESH);
    const end = oneStream(follow);
    return () => {
      clearInterval(timer);
      request.abort();
      end();
    };
  }, [webhookId]);

  function toggle(): void {
    isPaused.value = !isPaused.value;
    if (isPaused.value) return announce(t("tail.paused"));
    announce(plural("tail.held", held.value.length));
    attempts.value = merged(held.value, attempts.value);
    held.value = [];
  }

  return (
    <div class="page wide-page">
      <Back to={webhookId ? `/webhooks/${webhookId}` : "/webhooks"}>{t("webhooks.title")}</Back>
      <header class="page-head">
        <h1>{t("tail.title")}</h1>
        <StateLabel kind={LOOKS[shown][0]} icon={LOOKS[shown][1]}>
          {t(`tail.${shown}`)}
        </StateLabel>
        <span class="space" />
        <button type="button" class="main" onClick={toggle}>
          {isPaused.value ? t("tail.resume") : t("tail.pause")}
        </button>
      </header>
      <Select
        class="field narrow"
        label={t("endpoint")}
        value={webhookId}
        choices={[["", t("all")], ...urls]}
        onChoose={(webhook) => go(withQuery({ webhook }))}
      />
      {problem.value && (
        <p class="error" role="alert">
          {problem.value}
        </p>
      )}
      {held.value.length > 0 && <p>{plural("tail.held", held.value.length)}</p>}
      {attempts.value.length === 0 && held.value.length === 0 && <p class="muted">{t("tail.empty")}</p>}
      {attempts.value.length > 0 && (
        <table class="table">
          <thead>
            <tr>
              <th>{t("time")}</th>
              <th>{t("result")}</th>
              <th>{t("event")}</th>
              <th class="wide number">{t("attempt")}</th>
              {!webhookId && <th class="wide">{t("endpoint")}</th>}
            </tr>
          </thead>
          <tbody>
            {attempts.value.map(({ delivery, attempt }) => (
              <tr key={keyOf({ delivery, attempt })}>
                <td>
                  <time dateTime={attempt.startedAt} title={attempt.startedAt}>
                    {clockTime(attempt.startedAt)}
                  </time>
                </td>
                <td>
                  <AttemptLabel attempt={attempt} />
                </td>
                <td>
                  <DeliveryLink delivery={delivery} />
                </td>
                <td class="wide number">{number(attempt.number)}</td>
                {!webhookId && (
                  <td class="wide clip">
                    <bdi dir="auto">{urls.get(delivery.webhookId)}</bdi>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
