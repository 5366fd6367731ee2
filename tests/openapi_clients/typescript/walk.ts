// Performs the steps with the generated client, and prints each completed step.

import assert from "node:assert/strict";

import {
  Configuration,
  CustomFieldsApi,
  ErrorResponseFromJSON,
  EventPayloadFromJSON,
  ResponseError,
  SubscriberStatusEnum,
  SubscribersApi,
  TagsApi,
  WebhooksApi,
} from "./client";

const configuration = new Configuration({
  basePath: process.env.ROSTER_URL,
  accessToken: process.env.ROSTER_API_KEY,
});
const subscribers = new SubscribersApi(configuration);

async function create(): Promise<string> {
  const createCustomFieldRequest = { label: "Plan" };
  await new CustomFieldsApi(configuration).createCustomField({ createCustomFieldRequest });
  const { subscriber } = await subscribers.createSubscriber({
    createSubscriberRequest: {
      email: "ada@example.com",
      firstName: "Ada",
      isConfirmed: true,
      tags: ["vip", "news"],
      customFields: { plan: "pro" },
    },
  });
  assert.equal(subscriber.status, SubscriberStatusEnum.Confirmed);
  assert.deepEqual(subscriber.tags, ["news", "vip"]);
  console.log("create");
  return subscriber.id;
}

async function read(id: string): Promise<void> {
  const { subscriber } = await subscribers.getSubscriber({ id });
  assert.deepEqual(subscriber.customFields, { plan: "pro" });
  assert.ok(Math.abs(Date.now() - subscriber.createdAt.getTime()) < 86_400_000);
  console.log("get");
  const page = await subscribers.listSubscribers({ status: "CONFIRMED", limit: 10 });
  assert.deepEqual([page.total, page.limit], [1, 10]);
  assert.deepEqual(page.subscribers, [subscriber]);
  console.log("list");
}

async function update(id: string): Promise<void> {
  const updateSubscriberRequest = { lastName: "Lovelace", tags: ["vip"] };
  const { subscriber } = await subscribers.updateSubscriber({ id, updateSubscriberRequest });
  assert.equal(`${subscriber.firstName} ${subscriber.lastName}`, "Ada Lovelace");
  assert.deepEqual(subscriber.tags, ["vip"]);
  console.log("update");
}

async function bulk(): Promise<void> {
  const rows = [{ email: "person@example.com" }, { email: "nonsense" }];
  const { failed } = await subscribers.bulkCreateSubscribers({
    bulkCreateSubscribersRequest: { subscribers: rows },
  });
  assert.deepEqual(failed, [{ index: 1, email: "nonsense", reason: "INVALID_EMAIL" }]);
  console.log("bulk");
}

async function error(): Promise<void> {
  const failure: unknown = await subscribers
    .getSubscriber({ id: "missing@example.com" })
    .catch((reason: unknown) => reason);
  assert.ok(failure instanceof ResponseError);
  assert.equal(failure.response.status, 404);
  const { error } = ErrorResponseFromJSON(await failure.response.json());
  assert.equal(error.code, "SubscriberNotFound");
  assert.ok(error.requestId);
  console.log("error");
}

async function events(): Promise<void> {
  const webhooks = new WebhooksApi(configuration);
  const createWebhookRequest = { url: "http://127.0.0.1:9/", enabled: false };
  await webhooks.createWebhook({ createWebhookRequest });
  await new TagsApi(configuration).createTag({ createTagRequest: { name: "spring" } });
  const { events } = await webhooks.listEvents({ afterSequence: 0, eventType: "tag.*" });
  assert.deepEqual(
    events.map((event) => [event.type, event.sequence]),
    [["tag.created", 1]],
  );
  console.log("events");
}

function payload(): void {
  const event = EventPayloadFromJSON(JSON.parse(process.env.ROSTER_EVENT ?? ""));
  assert.equal(event.type, "subscriber.updated");
  assert.equal(event.data.subscriber.lastName, "Lovelace");
  assert.equal(event.timestamp.toISOString(), "2026-11-21T03:51:17.082Z");
  assert.deepEqual(event.previous, { lastName: "", customFields: null });
  console.log("payload");
}

async function main(): Promise<void> {
  const id = await create();
  await read(id);
  await update(id);
  await bulk();
  await error();
  await events();
  payload();
}

void main();
