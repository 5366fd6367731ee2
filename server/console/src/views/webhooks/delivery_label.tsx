import type { WebhookDelivery } from "../../api/types.ts";
import type { IconName } from "../../components/icon.tsx";
import { StateLabel } from "../../components/state_label.tsx";
import { named } from "../../texts.ts";

const ICONS: Record<WebhookDelivery["state"], [IconName, string]> = {
  PENDING: ["clock", "paused"],
  SENDING: ["up", "paused"],
  SUCCEEDED: ["check", "good"],
  FAILED: ["warning", "bad"],
};

/** The state of a delivery as a color, a shape and a word. */
export function DeliveryLabel({ delivery: { state, attemptCount } }: { delivery: WebhookDelivery }) {
  const [icon, kind] = ICONS[state];
  return (
    <StateLabel icon={icon} kind={kind}>
      {named("delivery", state === "PENDING" && attemptCount ? "RETRYING" : state)}
    </StateLabel>
  );
}

export function deliveryPath(delivery: { webhookId: string; id: string }): string {
  return `/webhooks/${delivery.webhookId}/deliveries/${delivery.id}`;
}
