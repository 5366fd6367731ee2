// Lists of which more pages can be added.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { notify } from "../announce.ts";
import { callTagged } from "../api/client.ts";
import type { Operations } from "../api/types.ts";
import { type Loaded, useLoaded } from "../load.ts";
import { errorText, t } from "../texts.ts";

export interface Page<Item> {
  items: Item[];
  /** Token of the next page; empty on the last one. */
  nextPage: string;
}
export interface Paged<Item> extends Omit<Loaded<Item[]>, "replace"> {
  /** Whether the list of another key is shown until this one is loaded. */
  isBusy: boolean;
  /** Adds the next page; absent after the last one. */
  more: (() => void) | undefined;
}

/**
 * Calls an operation for the first page, as useLoaded does, and for others when a person wants more.
 *
 * `itemsOf` returns the items in a response.
 */
export function usePaged<Name extends keyof Operations, Item>(
  operation: Name,
  query: Operations[Name]["query"],
  itemsOf: (body: Operations[Name]["response"]) => Item[],
  seconds: (items: Item[]) => number = () => 0,
): Paged<Item> {
  async function load(pageToken: string, signal?: AbortSignal): Promise<Page<Item>> {
    const { body, nextPage } = await callTagged(operation, { query: { ...query, pageToken }, signal } as never);
    return { items: itemsOf(body), nextPage };
  }
  const others = useSignal<Page<Item> | null>(null);
  const shown = useRef<Page<Item> | undefined>(undefined);
  // The first page of the list to which a page is being added.
  const adding = useRef<Page<Item> | null | undefined>(null);
  const { data, error, reload } = useLoaded(
    async (signal, isRepetition) => {
      const page = await load("", signal);
      // Pages that a person added would be lost.
      if (isRepetition && shown.current && (others.value || adding.current)) return shown.current;
      if (!signal.aborted) others.value = null;
      return page;
    },
    JSON.stringify(query),
    (page) => (page && !others.value ? seconds(page.items) : 0),
  );
  shown.current = data ?? shown.current;
  const next = others.value?.nextPage ?? shown.current?.nextPage ?? "";

  async function more(): Promise<void> {
    const first = shown.current;
    if (adding.current === first) return;
    adding.current = first;
    try {
      const page = await load(next);
      // Of another list, it follows nothing.
      if (shown.current === first) others.value = { ...page, items: [...(others.value?.items ?? []), ...page.items] };
    } catch (problem) {
      notify(errorText(problem));
    }
    if (adding.current === first) adding.current = null;
  }

  const items = shown.current && [...shown.current.items, ...(others.value?.items ?? [])];
  return { data: items, error, isBusy: !data && !error, reload, more: next ? () => void more() : undefined };
}

/** The button that adds the next page. */
export function More({ paged }: { paged: { more: (() => void) | undefined } }) {
  if (!paged.more) return null;
  return (
    <button type="button" onClick={paged.more}>
      {t("more")}
    </button>
  );
}
