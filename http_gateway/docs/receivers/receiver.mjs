// Takes events from Roster. To install: npm install standardwebhooks.
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// Both belong into a database: what was answered with 2xx does not come again.
const seen = new Set();
const waiting = [];

createServer(async (request, response) => {
  try {
    // The bytes as they came: JSON that was read and written again is another text.
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
