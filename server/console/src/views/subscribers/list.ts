// The subscribers that match a search, in pages that are loaded when they are visible.

import { signal } from "@preact/signals";
import { ApiError, call, callTagged, type Tagged } from "../../api/client.ts";
import type { Operations, Subscriber } from "../../api/types.ts";

type ListQuery = Operations["GET /api/subscribers"]["query"];
type Page = Operations["GET /api/subscribers"]["response"];
export type Status = Subscriber["status"];
export type OrderBy = NonNullable<ListQuery["orderBy"]>;

export interface Query {
  filter: string;
  q: string;
  status: Status | "";
  segmentId: string;
  orderBy: OrderBy;
}

export const PAGE = 100;
const KEPT = 60;
const STATUSES: readonly Status[] = ["CONFIRMED", "UNCONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"];
export { STATUSES };

export type Counts = Record<Status, number>;

export class SubscriberList {
  readonly query: Query;
  readonly total: number;
  /** The numbers by status, of the search without a status. */
  readonly counts = signal({} as Counts);
  /** Rises when rows were loaded or changed. */
  readonly version = signal(0);
  readonly error = signal<unknown>(null);
  readonly #pages = new Map<number, Subscriber[]>();
  readonly #loading = new Map<number, AbortController>();
  /** The queries of pages that follow a loaded one. With its token, a page costs the same anywhere in the list. */
  readonly #following = new Map<number, ListQuery>();
  readonly #reading = new Map<number, Promise<Subscriber[]>>();
  #shown: [number, number] = [0, 0];

  private constructor(query: Query, total: number, counts: Counts) {
    this.query = query;
    this.total = total;
    this.counts.value = counts;
  }

  /** Loads the page with a row, and the numbers of the list. Raises ApiError. */
  static async load(query: Query, row: number, signal: AbortSignal): Promise<SubscriberList> {
    const { filter, q, segmentId } = query;
    const counted = { query: { filter, q, segmentId, by: "STATUS" as const }, signal };
    const page = pageQuery(query, pageOf(row), "EXACT");
    const [statistics, first] = await Promise.all([
      call("GET /api/statistics", counted),
      callTagged("GET /api/subscribers", { query: page, signal }),
    ]);
    const { confirmed, unconfirmed, unsubscribed, bounced, complained } = statistics.byStatus;
    const list = new SubscriberList(query, first.body.total ?? 0, {
      CONFIRMED: confirmed,
      UNCONFIRMED: unconfirmed,
      UNSUBSCRIBED: unsubscribed,
      BOUNCED: bounced,
      COMPLAINED: complained,
    });
    list.#store(pageOf(row), page, first);
    return list;
  }

  /** Returns a row, or undefined if it is not loaded. */
  row(index: number): Subscriber | undefined {
    return this.#pages.get(pageOf(index))?.[index % PAGE];
  }

  /** Returns the index of a loaded subscriber; -1 if it is not loaded. */
  indexOf(id: string): number {
    for (const [page, rows] of this.#pages) {
      const at = rows.findIndex((row) => row.id === id);
      if (at >= 0) return page * PAGE + at;
    }
    return -1;
  }

  loaded(): Subscriber[] {
    return [...this.#pages.values()].flat();
  }

  /** Shows a changed subscriber, who keeps the place. */
  replace(subscriber: Subscriber): void {
    const index = this.indexOf(subscriber.id);
    const rows = this.#pages.get(pageOf(index));
    const before = rows?.[index % PAGE];
    if (!rows || !before) return;
    rows[index % PAGE] = subscriber;
    if (before.status !== subscriber.status) {
      const counts = { ...this.counts.value };
      counts[before.status] -= 1;
      counts[subscriber.status] += 1;
      this.counts.value = counts;
    }
    this.version.value += 1;
  }

  /** Loads the pages of some rows, and abandons those that are no longer needed. */
  show(first: number, end: number): void {
    this.#shown = [first, end];
    const from = pageOf(first);
    const to = pageOf(Math.max(first, end - 1));
    for (const [page, request] of this.#loading) {
      if (page < from - 1 || page > to + 1) request.abort();
    }
    for (let page = from; page <= to; page += 1) {
      const rows = this.#pages.get(page);
      if (rows) {
        // The pages that were used last are kept.
        this.#pages.delete(page);
        this.#pages.set(page, rows);
      } else if (!this.#loading.has(page) && page * PAGE < this.total) void this.#load(page);
    }
  }

  /** Loads the visible pages again that could not be loaded. */
  retry(): void {
    this.show(...this.#shown);
  }

  /** Loads the rows of a range that are missing, and returns all of it. Raises ApiError. */
  async range(first: number, last: number): Promise<Subscriber[]> {
    const pages = Array.from({ length: pageOf(last) - pageOf(first) + 1 }, (_, at) => pageOf(first) + at);
    const found: Subscriber[][] = [];
    for (const page of pages) {
      const loading = this.#reading.get(page)?.catch(() => undefined);
      found.push(this.#pages.get(page) ?? (await loading) ?? (await this.#read(page)));
    }
    const start = pageOf(first) * PAGE;
    return found.flat().slice(first - start, last + 1 - start);
  }

  async #load(page: number): Promise<void> {
    const request = new AbortController();
    this.#loading.set(page, request);
    const reading = this.#read(page, request.signal);
    this.#reading.set(page, reading);
    try {
      await reading;
      this.error.value = null;
    } catch (error) {
      if (!request.signal.aborted) this.error.value = error;
    }
    this.#loading.delete(page);
    this.#reading.delete(page);
  }

  async #read(page: number, signal?: AbortSignal): Promise<Subscriber[]> {
    const query = this.#following.get(page) ?? pageQuery(this.query, page, "NONE");
    try {
      const found = await callTagged("GET /api/subscribers", { query, signal });
      this.#store(page, query, found);
      return found.body.subscribers;
    } catch (error) {
      if (!query.pageToken || !(error instanceof ApiError) || error.status !== 400) throw error;
      // The token is of another list, such as that of a segment before it was changed.
      this.#following.delete(page);
      return await this.#read(page, signal);
    }
  }

  #store(page: number, query: ListQuery, { body, nextPage }: Tagged<Page>): void {
    this.#pages.set(page, body.subscribers);
    if (nextPage) this.#following.set(page + 1, { ...query, page: page + 2, pageToken: nextPage });
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= KEPT) break;
      this.#pages.delete(old);
      this.#following.delete(old + 1);
    }
    this.version.value += 1;
  }

  abandon(): void {
    for (const request of this.#loading.values()) request.abort();
  }
}

export function pageOf(index: number): number {
  return Math.floor(index / PAGE);
}

/** Returns the parameters for a page of a search. */
export function pageQuery(query: Query, page: number, total: "EXACT" | "NONE"): ListQuery {
  const { status, ...others } = query;
  return { ...others, ...(status ? { status } : {}), limit: PAGE, page: page + 1, total };
}
