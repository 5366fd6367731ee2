// Lists of which more pages can be added.

import { useSignal } from "@preact/signals";
import { notify } from "../announce.ts";
import { errorText, t } from "../texts.ts";
import { type Loaded, useLoaded } from "./loaded.tsx";

export interface Page<Item> {
  items: Item[];
  /** Token of the next page; empty on the last one. */
  nextPage: string;
}
export interface Paged<Item> extends Loaded<Item[]> {
  /** Adds the next page; absent after the last one. */
  more: (() => void) | undefined;
}

/** Loads the first page, as useLoaded does, and others when a person wants more. */
export function usePaged<Item>(
  key: string,
  load: (pageToken: string, signal?: AbortSignal) => Promise<Page<Item>>,
  seconds: (items: Item[]) => number = () => 0,
): Paged<Item> {
  const others = useSignal<Page<Item> | null>(null);
  const { data, ...loaded } = useLoaded(
    key,
    async (signal) => {
      const page = await load("", signal);
      others.value = null;
      return page;
    },
    // Pages that a person added would be lost.
    (page) => (page && !others.value ? seconds(page.items) : 0),
  );
  const next = others.value?.nextPage ?? data?.nextPage ?? "";

  async function more(): Promise<void> {
    try {
      const page = await load(next);
      others.value = { ...page, items: [...(others.value?.items ?? []), ...page.items] };
    } catch (error) {
      notify(errorText(error));
    }
  }

  const items = data && [...data.items, ...(others.value?.items ?? [])];
  return { ...loaded, data: items, more: next ? () => void more() : undefined };
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
