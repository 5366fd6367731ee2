import { call } from "../../api/client.ts";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { t } from "../../texts.ts";
import { DeliveryLabel, deliveryPath } from "../webhooks/delivery_label.tsx";

const SHOWN = 5;

/** The last deliveries of events about a person, which are loaded again when the person changes. */
export function PersonDeliveries({ id, version }: { id: string; version: string }) {
  const loaded = useLoaded(
    async (signal) => {
      const [{ deliveries }, { webhooks }] = await Promise.all([
        call("GET /api/webhook-deliveries", { query: { subscriberId: id, limit: SHOWN }, signal }),
        call("GET /api/webhooks", { query: { limit: 100 }, signal }),
      ]);
      return { deliveries, urls: new Map(webhooks.map((webhook) => [webhook.id, webhook.url])) };
    },
    id + version,
  );
  return (
    <Part of={loaded} bars={0}>
      {({ deliveries, urls }) =>
        deliveries.length > 0 && (
          <section class="field">
            <h3>{t("webhooks.title")}</h3>
            <ul class="person-deliveries">
              {deliveries.map((delivery) => (
                <li key={delivery.id}>
                  <DeliveryLabel delivery={delivery} />
                  <a class="cut" href={href(deliveryPath(delivery))}>
                    {delivery.eventType}
                    <small class="below cut">
                      <bdi dir="ltr">{urls.get(delivery.webhookId)}</bdi>
                    </small>
                  </a>
                  <small>
                    <Time value={delivery.createdAt} as="ago" />
                  </small>
                </li>
              ))}
            </ul>
            {deliveries.length === SHOWN && (
              <a class="small" href={href(`/webhooks?person=${id}`)}>
                {t("delivery.all")}
              </a>
            )}
          </section>
        )
      }
    </Part>
  );
}
