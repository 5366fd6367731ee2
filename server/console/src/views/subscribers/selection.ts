// Which rows are selected, and how the server selects the same people. Without I/O.

import type { BatchChangeSubscribersRequest } from "../../api/types.ts";
import type { Query, Status } from "./list.ts";

/** The most people that can be taken out of all that match. */
export const MOST_EXCEPTIONS = 1_000;
/** The most chosen people that an export can have. */
export const MOST_EXPORTED = 1_000;
/** The most rows that are selected at once, for which those that are missing are loaded. */
export const MOST_IN_RANGE = 1_000;

/** Chosen rows, or all that match apart from some. */
export class Selection {
  static readonly NONE = new Selection(false, []);
  static readonly ALL = new Selection(true, []);
  readonly isAll: boolean;
  /** The identifiers of chosen rows; if all are selected, of those that are not. */
  readonly ids: ReadonlySet<string>;

  constructor(isAll: boolean, ids: Iterable<string>) {
    this.isAll = isAll;
    this.ids = new Set(ids);
  }

  get isEmpty(): boolean {
    return !this.isAll && !this.ids.size;
  }

  has(id: string): boolean {
    return this.isAll !== this.ids.has(id);
  }

  /** Returns whether all these people are selected; not without any. */
  hasAll(ids: readonly string[]): boolean {
    return ids.length > 0 && ids.every((each) => this.has(each));
  }

  /** Returns how many of the people in a list are selected. */
  count(total: number): number {
    return this.isAll ? Math.max(0, total - this.ids.size) : this.ids.size;
  }

  /** Returns the selection in which some people are selected, or are not. */
  with(some: string[], isSelected: boolean): Selection {
    const ids = new Set(this.ids);
    for (const id of some) {
      if (isSelected === this.isAll) ids.delete(id);
      else ids.add(id);
    }
    return new Selection(this.isAll, ids);
  }
}

export type Target = Omit<BatchChangeSubscribersRequest, "action">;

/** Returns how a request selects these people, apart from those with some statuses. */
export function target(query: Query, selection: Selection, without: readonly Status[] = []): Target {
  if (!selection.isAll) return { ids: [...selection.ids] };
  return {
    ...searched(query, without.map((status) => `status != ${status}`)),
    excludeIds: [...selection.ids],
  };
}

/** Returns the parameters that select all who match. One of them is set. */
export function searched(query: Query, conditions: string[] = []): { filter: string; q: string; segmentId: string } {
  const { q, segmentId } = query;
  const filter = filterOf(query, conditions);
  return { filter: filter || q || segmentId ? filter : EVERYONE, q, segmentId };
}

/** A filter that all people match, because a request has one. */
export const EVERYONE = "email:*";

/** Returns one expression for a filter, a status and further conditions. */
export function filterOf({ filter, status }: Query, conditions: string[] = []): string {
  const others = [...(status ? [`status = ${status}`] : []), ...conditions];
  if (!others.length) return filter;
  return [...(filter ? [`(${filter})`] : []), ...others].join(" AND ");
}
