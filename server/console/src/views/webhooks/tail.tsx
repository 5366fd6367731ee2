import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { call, callStream } from "../../api/client.ts";
import type { TailWebhookDeliveriesResponse, Webhook, WebhookDelivery, WebhookHealthAttempt } from "../../api/types.ts";
import { announce } from "../../announce.ts";
import { now } from "../../clock.ts";
import { Back } from "../../components/back.tsx";
import { Select } from "../../components/select.tsx";
import { StateLabel } from "../../components/state_label.tsx";
import { repeat } from "../../load.ts";
import { oneStream } from "../../one_stream.ts";
import { address, go, withQuery } from "../../router.ts";
import { clockTime, errorText, number, plural, t } from "../../texts.ts";
import { DeliveryLink } from "./deliveries.tsx";
import { AttemptLabel } from "./health.tsx";

const SHOWN = 500;
const RETRY = 3_000;
/** How often attempts are read that the stream lacks, in milliseconds. */
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

/** Reads the latest attempts of endpoints, newest first: those that finished while no stream was read are among them. */
async function latest(ids: string[], webhookId: string, signal: AbortSignal): Promise<Finished[]> {
  const [{ deliveries }, ...all] = await Promise.all([
    call("GET /api/webhook-deliveries", { query: { limit: 100, webhookId }, signal }),
    ...ids.map((id) => call("GET /api/webhooks/{id}/health", { path: { id }, signal })),
  ]);
  const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  return all
    .flatMap(({ health }) => health.latestAttempts)
    .flatMap((attempt) => {
      const delivery = byId.get(attempt.deliveryId);
      return delivery ? [{ delivery, attempt }] : [];
    })
    .toSorted((a, b) => Date.parse(b.attempt.startedAt) - Date.parse(a.attempt.startedAt));
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

  const ids = (webhookId ? [webhookId] : webhooks.map(({ id }) => id)).join();
  const began = useRef(0);

  /** Shows attempts, newest first, that are not shown yet. */
  function add(found: Finished[]): void {
    const known = new Set([...attempts.peek(), ...held.peek()].map(keyOf));
    const list = isPaused.peek() ? held : attempts;
    list.value = [...found.filter((each) => !known.has(keyOf(each))), ...list.peek()].slice(0, SHOWN);
  }

  useLayoutEffect(() => {
    async function follow(signal: AbortSignal): Promise<void> {
      state.value = "lost";
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
    began.current = now();
    return oneStream(follow);
  }, [webhookId]);
  useLayoutEffect(() => {
    const request = new AbortController();
    const end = repeat(async () => {
      const found = await latest(ids.split(",").filter(Boolean), webhookId, request.signal).catch(() => []);
      if (!request.signal.aborted) add(found.filter(({ attempt }) => Date.parse(attempt.startedAt) > began.current));
      return REFRESH;
    });
    return () => {
      request.abort();
      end();
    };
  }, [ids]);

  function toggle(): void {
    isPaused.value = !isPaused.value;
    if (isPaused.value) return announce(t("tail.paused"));
    announce(plural("tail.held", held.value.length));
    attempts.value = [...held.value, ...attempts.value].slice(0, SHOWN);
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
