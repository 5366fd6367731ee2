// The selected people: who they are, in words, and the calls that change them.

import type { ComponentChildren } from "preact";
import { call } from "../../api/client.ts";
import type { BatchAction } from "../../api/types.ts";
import type { Start } from "../../components/plan.ts";
import { filterable } from "../../filter_fields.ts";
import { useLoaded } from "../../load.ts";
import { parts, plural, quoted, t } from "../../texts.ts";
import { filterText } from "./condition_words.ts";
import { joined, partsOf } from "./filter_parts.ts";
import type { Query, Status } from "./list.ts";
import { searched, type Selection, target } from "./selection.ts";

export interface Group {
  query: Query;
  selection: Selection;
  /** The number of people as the list states it. */
  size: number;
  /** Addresses of the chosen people whose rows are loaded. */
  emails: string[];
  /** Identifiers of the chosen people who reported mail as spam. */
  complained: string[];
}

/** Returns how an action on a group is started. People with the statuses `without` are left out. */
export function starter({ query, selection }: Group, action: BatchAction, without: readonly Status[] = []): Start {
  return async ({ dryRun, expectedTotal, idempotencyKey }) => {
    const expected = expectedTotal === undefined ? {} : { expectedTotal };
    const body = { ...target(query, selection, without), action, dryRun, ...expected };
    return (await call("POST /api/subscribers/batch", { body, idempotencyKey })).operation;
  };
}

/** Returns how many people all that match are now, without the people who are taken out. */
export async function countNow({ query, selection }: Group): Promise<number> {
  const { total } = await call("GET /api/statistics", { query: searched(query) });
  return selection.count(total);
}

/** How many addresses of chosen people are named. */
const NAMED = 3;

/** Who the people of a group are. */
export function Who({ group: { query, selection, emails = [] } }: { group: Pick<Group, "query" | "selection"> & Partial<Group> }) {
  if (!selection.isAll) {
    const more = selection.ids.size > NAMED ? " …" : "";
    return (
      <p>
        {parts("batch.chosen", { people: <bdi dir="auto">{emails.slice(0, NAMED).join(", ") + more}</bdi> })}
      </p>
    );
  }
  return (
    <p>
      {hasCriteria(query) ? parts("batch.match", { criteria: <Criteria query={query} /> }) : t("batch.everyone")}{" "}
      {selection.ids.size > 0 && plural("batch.without", selection.ids.size)}
    </p>
  );
}

function hasCriteria({ filter, q, status, segmentId }: Query): boolean {
  return Boolean(filter || q || status || segmentId);
}

/** What the people of a list have in common. */
export function Criteria({ query: { filter, q, status, segmentId } }: { query: Query }) {
  const all: ComponentChildren[] = [];
  if (segmentId) all.push(parts("selection.segment", { name: <SegmentName id={segmentId} /> }));
  const conditions = [...(partsOf(filter) ?? [filter]), ...(status ? [`status = ${status}`] : [])];
  if (conditions.length) {
    all.push(
      <bdi dir="auto" title={joined(conditions)}>
        {filterText(joined(conditions), filterable.value)}
      </bdi>,
    );
  }
  if (q) all.push(quoted(<bdi dir="auto">{q}</bdi>));
  return <span class="criteria">{all.flatMap((each, index) => (index ? [" · ", each] : [each]))}</span>;
}

function SegmentName({ id }: { id: string }) {
  const { data } = useLoaded((signal) => call("GET /api/segments/{id}", { path: { id }, signal }), id);
  return <bdi dir="auto">{data?.segment.name ?? t("batch.segment")}</bdi>;
}
