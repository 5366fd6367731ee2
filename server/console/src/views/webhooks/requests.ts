// The request of a delivery: its body, and a command that sends it again.

import { call } from "../../api/client.ts";
import type { Event } from "../../api/types.ts";
import { quoted } from "../../copying.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PAGE = 100;

/** Returns the event of a delivery; null if it is not stored any more. */
export async function findEvent(id: string, type: string, signal: AbortSignal): Promise<Event | null> {
  const time = timeOf(id);
  let [first, page, last] = [1, 1, Infinity];
  // A batch has thousands of events at a time. Their IDs ascend, so half of the pages are left out at a time.
  while (first <= last) {
    const { events, total = 0 } = await call("GET /api/events", {
      query: {
        eventType: type,
        createdAfter: new Date(time - 1).toISOString(),
        createdBefore: new Date(time + 1).toISOString(),
        limit: PAGE,
        page,
      },
      signal,
    });
    const found = events.find((event) => event.id === id);
    if (found) return found;
    if (id < (events[0]?.id ?? "")) last = page - 1;
    else first = page + 1;
    last = Math.min(last, Math.ceil(total / PAGE));
    page = Math.floor((first + last) / 2);
  }
  return null;
}

/** Returns the time in an identifier such as evt_01M7Y2MPAQ036JVMBN3RCKGA5K. */
export function timeOf(id: string): number {
  const ulid = id.slice(id.indexOf("_") + 1);
  return [...ulid.slice(0, 10)].reduce((sum, letter) => sum * 32 + ALPHABET.indexOf(letter), 0);
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
