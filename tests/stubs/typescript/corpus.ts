// Decodes the messages of a corpus with the npm package, and prints each as JSON.

import { readFile } from "node:fs/promises";
import {
  createRegistry,
  type DescFile,
  fromBinary,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import * as client from "@roster/client";

interface Entry {
  type: string;
  binary: string;
}

const files = Object.values(client).filter(isFile);
const registry = createRegistry(...files);

const entries: Entry[] = JSON.parse(await readFile(process.argv[2] ?? "", "utf8"));
for (const { type, binary } of entries) {
  const kind = registry.getMessage(type);
  if (!kind) throw new Error(`the package has no ${type}`);
  const message = fromBinary(kind, Buffer.from(binary, "base64"));
  const again = Buffer.from(toBinary(kind, message)).toString("base64");
  console.log(JSON.stringify({ binary: again, json: toJson(kind, message) }));
}

function isFile(exported: unknown): exported is DescFile {
  return (exported as DescFile)?.kind === "file";
}
