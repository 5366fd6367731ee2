import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { callStream } from "../../api/client.ts";
import type { TailWebhookDeliveriesResponse, Webhook } from "../../api/types.ts";
import { announce } from "../../announce.ts";
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
const LOOKS = {
  live: ["good", "check"],
  lost: ["bad", "warning"],
  elsewhere: ["idle", "stop"],
  paused: ["paused", "stop"],
} as const;

/** Attempts as they finish, newest first. While it is paused, they are collected. */
export function Tail({ webhooks }: { webhooks: Webhook[] }) {
  const webhookId = address.value.query.get("webhook") ?? "";
  const attempts = useSignal<TailWebhookDeliveriesResponse[]>([]);
  const held = useSignal<TailWebhookDeliveriesResponse[]>([]);
  const isPaused = useSignal(false);
  const problem = useSignal("");
  const state = useSignal<"live" | "lost" | "elsewhere">("lost");
  const shown = isPaused.value ? "paused" : state.value;
  const urls = new Map(webhooks.map((webhook) => [webhook.id, webhook.url]));

  useLayoutEffect(() => {
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
            },
            (record) => {
              const list = isPaused.peek() ? held : attempts;
              list.value = [record, ...list.peek()].slice(0, SHOWN);
            },
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
    return oneStream(follow);
  }, [webhookId]);

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
              <tr key={delivery.id + attempt.number}>
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
