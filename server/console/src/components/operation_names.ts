import { call } from "../api/client.ts";
import { loadFields } from "../filter_fields.ts";
import type { Names } from "./operation_text.tsx";

/** Loads the names of segments and files of imports, and the URLs of endpoints, by their identifiers, and those of fields. */
export async function loadNames(signal: AbortSignal): Promise<Names> {
  const query = { limit: 100 };
  const [{ segments }, { webhooks }, { imports }] = await Promise.all([
    call("GET /api/segments", { query, signal }),
    call("GET /api/webhooks", { query, signal }),
    call("GET /api/imports", { query, signal }),
    loadFields(signal),
  ]);
  return new Map([
    ...segments.map(({ id, name }) => [id, name] as const),
    ...imports.map(({ id, name }) => [id, name] as const),
    ...webhooks.map(({ id, url }) => [id, url] as const),
  ]);
}
