import { useSignal } from "@preact/signals";
import { call } from "../api/client.ts";
import type { Webhook, WebhookHealth } from "../api/types.ts";
import { Icon } from "../components/icon.tsx";
import { Part } from "../components/part.tsx";
import { useLoaded } from "../load.ts";
import { go, href } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { canWrite } from "../session.ts";
import { t } from "../texts.ts";
import { Deliveries } from "./webhooks/deliveries.tsx";
import { Delivery } from "./webhooks/delivery.tsx";
import { Endpoint, EndpointSecret } from "./webhooks/endpoint.tsx";
import { EndpointDialog } from "./webhooks/endpoint_dialogs.tsx";
import { Dots, HealthLabel, HealthText, SuccessRate } from "./webhooks/health.tsx";
import { Tail } from "./webhooks/tail.tsx";

const LIMIT = 100;
const REFRESH = 15;

/** Webhooks: all endpoints, one of them, a delivery, or attempts as they finish. */
export function Webhooks({ id, part, delivery }: Parameters) {
  if (id && part === "deliveries" && delivery) {
    return <Delivery key={delivery} id={delivery} webhookId={id} />;
  }
  if (id === "tail") return <TailOfAll />;
  return id ? <Endpoint key={id} id={id} /> : <Endpoints />;
}

function TailOfAll() {
  const loaded = useLoaded(loadWebhooks);
  return <Tail webhooks={loaded.data ?? []} />;
}

async function loadWebhooks(signal: AbortSignal): Promise<Webhook[]> {
  return (await call("GET /api/webhooks", { query: { limit: LIMIT }, signal })).webhooks;
}

async function loadHealth(webhook: Webhook, signal: AbortSignal): Promise<[string, WebhookHealth]> {
  const path = { id: webhook.id };
  return [webhook.id, (await call("GET /api/webhooks/{id}/health", { path, signal })).health];
}

function Endpoints() {
  const isAdding = useSignal(false);
  const created = useSignal<{ secret: string; id: string } | null>(null);
  const loaded = useLoaded(
    async (signal) => {
      const webhooks = await loadWebhooks(signal);
      const health = new Map(await Promise.all(webhooks.map((each) => loadHealth(each, signal))));
      return { webhooks, health };
    },
    "",
    () => REFRESH,
  );
  const webhooks = loaded.data?.webhooks;
  const waiting = [...(loaded.data?.health.values() ?? [])].reduce((sum, each) => sum + each.waiting, 0);
  return (
    <div class="page wide-page">
      <header class="page-head">
        <h1>{t("webhooks.title")}</h1>
        <div class="line">
          {Boolean(webhooks?.length) && (
            <a class="button" href={href("/webhooks/tail")}>
              {t("tail.title")}
            </a>
          )}
          {canWrite.value && (
            <button type="button" class="main" onClick={() => (isAdding.value = true)}>
              <Icon name="plus" />
              {t("webhook.add")}
            </button>
          )}
        </div>
      </header>
      <Part of={loaded}>
        {({ webhooks, health }) => (
          <>
            {!webhooks.length && <p class="muted">{t("webhooks.empty")}</p>}
            <ul class="cards">
              {webhooks.map((webhook) => (
                <EndpointCard key={webhook.id} webhook={webhook} health={health.get(webhook.id)} />
              ))}
            </ul>
          </>
        )}
      </Part>
      {webhooks?.length ? <Deliveries webhooks={webhooks} waiting={waiting} /> : null}
      {isAdding.value && (
        <EndpointDialog
          onClose={() => (isAdding.value = false)}
          onDone={(secret, webhook) => {
            isAdding.value = false;
            loaded.reload();
            if (secret && webhook) created.value = { secret, id: webhook.id };
          }}
        />
      )}
      {created.value && (
        <EndpointSecret
          secret={created.value.secret}
          onClose={() => {
            go(`/webhooks/${created.value?.id}`);
            created.value = null;
          }}
        />
      )}
    </div>
  );
}

function EndpointCard({ webhook, health }: { webhook: Webhook; health: WebhookHealth | undefined }) {
  return (
    <li class="card">
      <div>
        <p class="title">
          <HealthLabel webhook={webhook} health={health} />
          <a class="row-link" href={href(`/webhooks/${webhook.id}`)}>
            <bdi dir="auto">{webhook.url}</bdi>
          </a>
        </p>
        {webhook.description && (
          <p class="hint" dir="auto">
            {webhook.description}
          </p>
        )}
        <p>{health && <HealthText webhook={webhook} health={health} />}</p>
      </div>
      <div class="figures">
        {health && <SuccessRate health={health} />}
        {health && <Dots attempts={health.latestAttempts} />}
      </div>
    </li>
  );
}
