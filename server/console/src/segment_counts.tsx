import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { call } from "./api/client.ts";
import type { Segment } from "./api/types.ts";
import { errorText, number, t } from "./texts.ts";

// The maximum of one call.
const COUNTED = 10;
/** The number of people of segments by identifier, or the error. */
export type SegmentCounts = ReadonlyMap<string, number | Error>;

/** Counts the people of segments, ten at a time, after the segments themselves are shown. */
export function useSegmentCounts(segments: readonly Segment[] | undefined): SegmentCounts {
  const counts = useSignal<SegmentCounts>(new Map());
  const key = segments?.map((each) => each.id + each.updatedAt).join() ?? "";
  useLayoutEffect(() => {
    const request = new AbortController();
    const ids = segments?.filter((each) => each.filter).map((each) => each.id) ?? [];
    void count(ids, request.signal, (counted) => {
      counts.value = new Map([...counts.value, ...counted]);
    }).catch(() => {});
    return () => request.abort();
  }, [key]);
  return counts.value;
}

async function count(
  ids: string[],
  signal: AbortSignal,
  onCounted: (counts: SegmentCounts) => void,
): Promise<void> {
  for (let start = 0; start < ids.length && !signal.aborted; start += COUNTED) {
    const some = ids.slice(start, start + COUNTED);
    try {
      onCounted(await countSome(some, signal));
    } catch (error) {
      if (signal.aborted) return;
      // One whose filter is no longer valid fails the whole call.
      for (const id of some) onCounted(await countSome([id], signal).catch((each) => new Map([[id, each]])));
      void error;
    }
  }
}

async function countSome(segmentIds: string[], signal: AbortSignal): Promise<SegmentCounts> {
  const { segments } = await call("GET /api/statistics", { query: { segmentIds }, signal });
  return new Map(segments.map((each) => [each.id, each.total]));
}

/** The number of people of a segment; a grey bar until it is counted. */
export function SegmentCount({ segment, counts }: { segment: Segment; counts: SegmentCounts }) {
  if (!segment.filter) return <span class="count amber">{t("segments.withoutFilter")}</span>;
  const found = counts.get(segment.id);
  if (found === undefined) return <span class="count skeleton" />;
  if (typeof found === "number") return <span class="count">{number(found)}</span>;
  return (
    <span class="count amber" title={errorText(found)}>
      {t("segments.invalid")}
    </span>
  );
}
