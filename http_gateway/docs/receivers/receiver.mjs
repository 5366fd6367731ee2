// Receives events from Roster. To install: npm install standardwebhooks.
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// Use a database for both: an event that was accepted with 2xx is not sent again.
const seen = new Set();
const waiting = [];

createServer(async (request, response) => {
  try {
    // Verify the raw bytes: JSON that was parsed and serialized again can differ.
    const event = webhook.verify(await buffer(request), request.headers);
    if (!seen.has(event.id)) {
      seen.add(event.id);
      waiting.push(event);
      setImmediate(work);
    }
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(process.env.PORT ?? 8000), "127.0.0.1");

function work() {
  const event = waiting.shift();
  console.log(event.sequence, event.type, JSON.stringify(event.data));
}
