// Lists and exports subscribers with a grpc-js client that has default settings.

import {
  create,
  type DescMessage,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import {
  ExportSubscribersRequestSchema,
  ExportSubscribersResponseSchema,
  ListSubscribersRequestSchema,
  ListSubscribersResponseSchema,
  SubscriberService,
} from "@roster/client";

const client = new Client(process.env.ROSTER_GRPC_ADDRESS ?? "", credentials.createInsecure());
const metadata = new Metadata();
metadata.set("authorization", `Bearer ${process.env.ROSTER_API_KEY}`);

function serialize<T extends DescMessage>(schema: T) {
  return (message: MessageShape<T>) => Buffer.from(toBinary(schema, message));
}

function deserialize<T extends DescMessage>(schema: T) {
  return (bytes: Buffer) => fromBinary(schema, bytes);
}

const listed = await new Promise<number>((resolve, reject) => {
  client.makeUnaryRequest(
    `/${SubscriberService.typeName}/ListSubscribers`,
    serialize(ListSubscribersRequestSchema),
    deserialize(ListSubscribersResponseSchema),
    create(ListSubscribersRequestSchema, { limit: 100 }),
    metadata,
    (error, page) => (page ? resolve(page.subscribers.length) : reject(error)),
  );
});
let exported = 0;
const parts = client.makeServerStreamRequest(
  `/${SubscriberService.typeName}/ExportSubscribers`,
  serialize(ExportSubscribersRequestSchema),
  deserialize(ExportSubscribersResponseSchema),
  create(ExportSubscribersRequestSchema),
  metadata,
);
for await (const part of parts) {
  exported += part.subscribers.length;
}
client.close();
console.log(JSON.stringify({ listed, exported }));
