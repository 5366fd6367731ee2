// Verifies requests, one JSON document per line, and prints the result of each.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    console.log("accepted");
  } catch (error) {
    console.log(error.message);
  }
}
