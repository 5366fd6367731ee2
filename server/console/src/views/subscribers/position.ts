// The scroll position of the list: the person at its top, who is in the fragment of the address.

import { ApiError, call } from "../../api/client.ts";
import { quoted } from "./conditions.ts";
import type { Subscriber } from "../../api/types.ts";
import { PAGE, pageOf, pageQuery, type Query, type SubscriberList } from "./list.ts";
import { searched } from "./selection.ts";

/** Pages that are searched for the person, because others can have the same place in the order. */
const SEARCHED = 10;
/** The row at the top of the list that was shown last, and the last person there whose row was loaded. */
let latest = 0;
let top = { id: "", row: 0 };

/** Adds the person at the top of the list to the address: `#at=01M7Y2MPAQ036JVMBN3RCKGA5K`. */
export async function rememberRow(list: SubscriberList, row: number): Promise<void> {
  const before = location.href;
  latest = row;
  // The row can be loading still.
  const id = row ? (list.row(row) ?? (await list.range(row, row).catch(() => []))[0])?.id : "";
  if (id === undefined || latest !== row || location.href !== before) return;
  top = { id, row };
  const url = location.pathname + location.search + (id ? `#at=${id}` : "");
  if (url !== location.pathname + location.search + location.hash) history.replaceState(null, "", url);
}

/** Returns the row at the top for a search, of which a list may be shown already. */
export async function startRow(query: Query, isShown: boolean, signal: AbortSignal): Promise<number> {
  if (!isShown) latest = await addressed(query, signal);
  return latest;
}

/** Returns the row of the person in the address; 0 without one, or if there is no such person. */
async function addressed(query: Query, signal: AbortSignal): Promise<number> {
  const id = new URLSearchParams(location.hash.slice(1)).get("at") ?? "";
  if (!id) return 0;
  try {
    return await find(id, query, signal);
  } catch (error) {
    if (error instanceof ApiError) return 0;
    throw error;
  }
}

async function find(id: string, query: Query, signal: AbortSignal): Promise<number> {
  const { subscriber } = await call("GET /api/subscribers/{id}", { path: { id }, signal });
  const [field = "", direction] = query.orderBy.split(" ");
  const valueOf = (one?: Subscriber) => String(one?.[field as "email"] ?? "");
  const value = valueOf(subscriber);

  async function search(row: number, pages: number): Promise<number> {
    for (let page = pageOf(row); page < pageOf(row) + pages; page += 1) {
      const { subscribers } = await call("GET /api/subscribers", { query: pageQuery(query, page, "NONE"), signal });
      const at = subscribers.findIndex((each) => each.id === id);
      if (at >= 0) return page * PAGE + at;
      // Those with the same value are passed: the person is not in this list.
      if (subscribers.length < PAGE || valueOf(subscribers.at(-1)).toLowerCase() !== value.toLowerCase()) break;
    }
    return -1;
  }

  const known = id === top.id ? await search(top.row, 1) : -1;
  if (known >= 0) return known;
  // Those without a value are the last ones.
  const before = value ? `${field} ${direction === "desc" ? ">" : "<"} ${quoted(value)}` : `${field}:*`;
  const { total } = await call("GET /api/statistics", { query: searched(query, [before]), signal });
  const found = await search(total, SEARCHED);
  return found >= 0 ? found : total;
}
