// Performs the steps of a client that uses the npm package.

import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  CustomFieldService,
  SubscriberService,
  TagService,
  WebhookService,
} from "@roster/client";
import { steps } from "./steps.ts";

/** What the steps share. */
export interface Session {
  subscribers: Client<typeof SubscriberService>;
  tags: Client<typeof TagService>;
  fields: Client<typeof CustomFieldService>;
  webhooks: Client<typeof WebhookService>;
  /** The authorization of each call. */
  headers: { authorization: string };
}

const transport = createGrpcTransport({ baseUrl: `http://${process.env.ROSTER_GRPC_ADDRESS}` });
const session: Session = {
  subscribers: createClient(SubscriberService, transport),
  tags: createClient(TagService, transport),
  fields: createClient(CustomFieldService, transport),
  webhooks: createClient(WebhookService, transport),
  headers: { authorization: `Bearer ${process.env.ROSTER_API_KEY}` },
};
for (const [step, take] of Object.entries(steps)) {
  await take(session);
  console.log(JSON.stringify({ step }));
}
