// The fields that filters can have, with the custom ones of the account once they are loaded.

import { signal } from "@preact/signals";
import { call } from "./api/client.ts";
import type { CustomField } from "./api/types.ts";
import { type FilterField, FIELDS, filterFields } from "./views/subscribers/conditions.ts";

export const filterable = signal<readonly FilterField[]>(FIELDS);

/** Returns the name of a custom field; its key until the fields are loaded, or if it was deleted. */
export function customFieldTitle(key: string): string {
  return filterable.value.find(({ name }) => name === `customFields.${key}`)?.label ?? key;
}

/** Loads the custom fields, whose titles are in words for filters from then on. */
export async function loadFields(signal?: AbortSignal): Promise<CustomField[]> {
  const { customFields } = await call("GET /api/custom-fields", { query: { limit: 100 }, ...(signal ? { signal } : {}) });
  filterable.value = filterFields(customFields);
  return customFields;
}
