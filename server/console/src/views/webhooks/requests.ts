// The request of a delivery: its body, and a command that sends it again.

import { ApiError, call } from "../../api/client.ts";
import type { Event } from "../../api/types.ts";
import { quoted } from "../../copying.ts";

/** Returns an event; null if it is not stored any more. */
export async function findEvent(id: string, signal: AbortSignal): Promise<Event | null> {
  try {
    return (await call("GET /api/events/{id}", { path: { id }, signal })).event;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * Returns a command that sends an event to an endpoint, with a new signature by the secret in
 * WEBHOOK_SECRET, so that the receiver can check it.
 */
export function deliveryCommand(url: string, event: Event): string {
  return `# Signs the event with $WEBHOOK_SECRET (whsec_...), as the receiver checks it, and sends it.
body=${quoted(JSON.stringify(event))}
id=${quoted(event.id)}
time=$(date +%s)
key=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf '%s.%s.%s' "$id" "$time" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
curl -i -X POST ${quoted(url)} \\
  -H 'Content-Type: application/json' \\
  -H "webhook-id: $id" \\
  -H "webhook-timestamp: $time" \\
  -H "webhook-signature: v1,$signature" \\
  --data-binary "$body"
`;
}
