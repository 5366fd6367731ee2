import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMessage, JsonObject, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Error_Detail_Code,
  Error_Reason,
  type ImportSubscribersRequestSchema,
  Row_Reason,
  Subscriber_Status,
} from "@roster/client";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
} from "@roster/client/google/rpc/error_details";
import type { Session } from "./walk.ts";

const CREATED = "ada@example.com";
const BULK = Array.from({ length: 24 }, (_, number) => `person${number}@example.com`);

/** The steps in order. */
export const steps: Record<string, (session: Session) => Promise<void>> = {
  async authenticate({ tags, headers }) {
    const refused = await failure(tags.listTags({}));
    assert.equal(refused.code, Code.Unauthenticated);
    assert.equal(detail(refused, ErrorInfoSchema).reason, Error_Reason[Error_Reason.UNAUTHORIZED]);

    assert.equal((await tags.listTags({}, { headers })).total, 0);
  },

  async create({ subscribers, fields, headers }) {
    const { subscriber } = await subscribers.createSubscriber(
      { email: CREATED, firstName: "Ada", isConfirmed: true, tags: ["vip", "early"] },
      { headers },
    );

    assert.equal(subscriber?.status, Subscriber_Status.CONFIRMED);
    assert.deepEqual(subscriber.tags, ["early", "vip"]);
    assert(subscriber.createdAt);
    assert(Math.abs(Date.now() - timestampDate(subscriber.createdAt).getTime()) < 3_600_000);

    const { customField } = await fields.createCustomField({ label: "Age" }, { headers });
    assert(customField);
    assert.equal(customField.fallback, undefined); // absent, which is not empty
  },

  async bulk_create({ subscribers, headers }) {
    const rows = [...BULK, BULK[0]].map((email) => ({ email: email ?? "" }));

    const { failed } = await subscribers.bulkCreateSubscribers({ subscribers: rows }, { headers });

    assert.deepEqual(
      failed.map(({ index, reason }) => [index, reason]),
      [[BULK.length, Row_Reason.DUPLICATE_IN_REQUEST]],
    );
  },

  async list_by_page_token({ subscribers, headers }) {
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await subscribers.listSubscribers({ limit: 10, pageToken }, { headers });
      assert.equal(page.total, 1 + BULK.length);
      seen.push(...page.subscribers.map(({ email }) => email));
      pageToken = page.nextPageToken;
    } while (pageToken);

    assert.deepEqual(seen, [CREATED, ...BULK]);
  },

  async update_with_mask({ subscribers, headers }) {
    const found = await subscribers.getSubscriber({ id: CREATED }, { headers });
    assert(found.subscriber);

    const { subscriber } = await subscribers.updateSubscriber(
      { id: found.subscriber.id, lastName: "Lovelace", updateMask: { paths: ["last_name"] } },
      { headers },
    );

    assert.deepEqual([subscriber?.firstName, subscriber?.lastName], ["Ada", "Lovelace"]);
  },

  async read_error_details({ tags, headers }) {
    const refused = await failure(tags.createTag({ name: " " }, { headers }));

    assert.equal(refused.code, Code.InvalidArgument);
    const { reason, domain } = detail(refused, ErrorInfoSchema);
    assert.deepEqual([reason, domain], [Error_Reason[Error_Reason.VALIDATION_ERROR], "roster"]);
    const violations = detail(refused, BadRequestSchema).fieldViolations;
    assert.deepEqual(
      violations.map(({ field, reason }) => [field, reason]),
      [["name", Error_Detail_Code[Error_Detail_Code.REQUIRED]]],
    );
    assert(detail(refused, RequestInfoSchema).requestId);
  },

  async stream_export({ subscribers, headers }) {
    const seen: string[] = [];
    for await (const part of subscribers.exportSubscribers({}, { headers })) {
      seen.push(...part.subscribers.map(({ email }) => email));
    }

    assert.deepEqual(seen, [CREATED, ...BULK]);
  },

  async exceed_deadline({ subscribers, headers }) {
    const responses = subscribers.importSubscribers(nothing(), { headers, timeoutMs: 200 });

    const refused = await failure(responses[Symbol.asyncIterator]().next());

    assert.equal(refused.code, Code.DeadlineExceeded);
  },

  async list_events({ webhooks, tags, headers }) {
    const { webhook, secret } = await webhooks.createWebhook(
      { url: "https://example.com/hooks", eventTypes: ["tag.*"], enabled: false },
      { headers },
    );

    assert(secret.startsWith("whsec_"));
    assert.equal(webhook?.enabled, false);
    assert.equal(webhook.failingSince, undefined);
    await tags.createTag({ name: "gold" }, { headers });
    const { events } = await webhooks.listEvents({ eventType: "tag.*" }, { headers });
    assert.deepEqual(
      events.map(({ type, sequence }) => [type, sequence]),
      [["tag.created", 1]],
    );
    const tag = events[0]?.data?.tag as JsonObject;
    assert.equal(tag.name, "gold");
    assert.equal(events[0]?.previous, undefined);
  },
};

/** The messages of an import: none, until long after its deadline. */
async function* nothing(): AsyncIterable<MessageInitShape<typeof ImportSubscribersRequestSchema>> {
  await sleep(600_000, undefined, { ref: false });
}

/** Returns the error of a call that must fail. */
async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.catch(ConnectError.from);
  assert(error instanceof ConnectError, "the call succeeded");
  return error;
}

/** Returns the detail of an error that has this type. */
function detail<Desc extends DescMessage>(error: ConnectError, type: Desc): MessageShape<Desc> {
  const [found] = error.findDetails(type);
  assert(found, `${error.message} has no detail ${type.typeName}`);
  return found;
}
