import { call } from "../api/client.ts";
import { useLoaded } from "../load.ts";
import { plural } from "../texts.ts";

const REFRESH = 30;
// The maximum number of webhooks of an account.
const LIMIT = 20;

/** Reads the webhooks that fail, or that the service disabled. */
export async function failingWebhooks(signal: AbortSignal) {
  const { webhooks } = await call("GET /api/webhooks", { query: { limit: LIMIT }, signal });
  return webhooks.filter((each) => each.failingSince || each.disabledReason);
}

/** The number of failing webhooks in the navigation; nothing if all work. */
export function FailingBadge() {
  const count = useLoaded(failingWebhooks, "", () => REFRESH).data?.length;
  if (!count) return null;
  const text = plural("webhooks.failing", count);
  return (
    <span class="badge" title={text}>
      <span aria-hidden="true">{count}</span>
      <span class="unseen">{text}</span>
    </span>
  );
}
