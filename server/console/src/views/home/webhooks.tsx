import type { ComponentChildren } from "preact";
import { call } from "../../api/client.ts";
import type { Webhook, WebhookHealth } from "../../api/types.ts";
import { failingWebhooks } from "../../components/failing_badge.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { ago, named, parts, plural, t } from "../../texts.ts";

interface Failing {
  webhook: Webhook;
  health: WebhookHealth;
}

/** The webhooks that fail or that the service disabled. Shows nothing if all work. */
export function FailingWebhooks() {
  const loaded = useLoaded(load);
  return (
    <Part of={loaded} bars={0}>
      {(failing) =>
        failing.length > 0 && (
          <section class="block alarm" aria-labelledby="webhooks">
            <header>
              <h2 id="webhooks">
                <Icon name="warning" />
                {plural("webhooks.failing", failing.length)}
              </h2>
            </header>
            <ul class="entries">
              {failing.map((each) => (
                <Line key={each.webhook.id} {...each} />
              ))}
            </ul>
          </section>
        )
      }
    </Part>
  );
}

async function load(signal: AbortSignal): Promise<Failing[]> {
  return Promise.all(
    (await failingWebhooks(signal)).map(async (webhook) => {
      const path = { id: webhook.id };
      return { webhook, health: (await call("GET /api/webhooks/{id}/health", { path, signal })).health };
    }),
  );
}

function Line({ webhook, health }: Failing) {
  const said: ComponentChildren[] = [
    webhook.disabledReason
      ? t(`webhook.${webhook.disabledReason}`)
      : parts("webhook.since", { time: <Time value={webhook.failingSince ?? webhook.updatedAt} /> }),
  ];
  if (health.lastHttpStatus) said.push(`HTTP ${health.lastHttpStatus}`);
  else if (health.lastError) said.push(named("deliveryError", health.lastError));
  if (health.waiting) said.push(plural("webhook.waiting", health.waiting));
  if (health.nextAttemptAt) said.push(t("webhook.next", { time: ago(health.nextAttemptAt) }));
  const url = (
    <bdi class="cut" dir="ltr">
      {webhook.url}
    </bdi>
  );
  return (
    <li class="webhook">
      <a href={href(`/webhooks/${webhook.id}`)}>{url}</a>
      <small>
        {said.map((each, index) => (
          <span key={index}>
            {index > 0 && " · "}
            {each}
          </span>
        ))}
      </small>
    </li>
  );
}
