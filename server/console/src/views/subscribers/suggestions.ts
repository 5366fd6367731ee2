// Values of fields that can be meant: statuses, tags, and those that people have in a custom field.

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { call } from "../../api/client.ts";
import { pages } from "../../pages.ts";
import { folded } from "../../texts.ts";
import { valueTitle } from "./condition_words.ts";
import type { FilterField } from "./conditions.ts";
import { STATUSES } from "./list.ts";

const SHOWN = 50;

/** Returns the names of all tags, at most 1,000. */
export async function allTags(): Promise<string[]> {
  const tags = await pages(async (query) => {
    const found = await call("GET /api/tags", { query });
    return { items: found.tags, total: found.total ?? 0 };
  });
  return tags.map((tag) => tag.name);
}

/** Returns values of a field that have a text in them or in their title; none without a field. */
export function useSuggestions(field: FilterField | undefined, text: string): string[] {
  const found = useSignal<{ name: string; values: string[] }>({ name: "", values: [] });
  const name = field?.name ?? "";
  // The server looks for values that begin with a text.
  const prefix = field?.type === "text" && field.id ? text : "";
  useLayoutEffect(() => {
    if (!field) return;
    const request = new AbortController();
    values(field, prefix, request.signal).then(
      (values) => {
        if (!request.signal.aborted) found.value = { name, values };
      },
      () => {},
    );
    return () => request.abort();
  }, [name, prefix]);
  if (!field || found.value.name !== name) return [];
  const wanted = folded(text);
  return found.value.values
    .filter((each) => folded(`${each} ${valueTitle(field, each)}`).includes(wanted))
    .slice(0, SHOWN);
}

async function values(field: FilterField, prefix: string, signal: AbortSignal): Promise<string[]> {
  if (field.type === "status") return [...STATUSES];
  if (field.type === "boolean") return ["true", "false"];
  if (field.type === "tags") return allTags();
  if (field.type !== "text" || !field.id) return [];
  const path = { id: field.id };
  const found = await call("GET /api/custom-fields/{id}/values", { path, query: { prefix }, signal });
  return found.values.map((each) => String(each.value));
}
