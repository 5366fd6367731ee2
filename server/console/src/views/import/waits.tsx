import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { ImportJob } from "../../api/types.ts";
import { loadNames } from "../../components/operation_names.ts";
import { type Names, operationHref, what } from "../../components/operation_text.tsx";
import { useLoaded } from "../../load.ts";
import { parts } from "../../texts.ts";

const REFRESH = 2;

/** The operation that has to end first: operations of an account, such as imports, run one after another. */
export function Waits({ job }: { job: ImportJob }) {
  const loaded = useRef<{ id: string; names: Names } | null>(null);
  const { data } = useLoaded(
    async (signal) => {
      const { operations } = await call("GET /api/operations", { query: { limit: 20 }, signal });
      // IDs are in the order of creation.
      const isEarlier = (id: string) => job.state === "READY" || id < job.operationId;
      const first = operations.findLast(
        ({ id, done, importId, type }) =>
          !done && type !== "WEBHOOK_REPLAY" && importId !== job.id && isEarlier(id),
      );
      if (!first) return undefined;
      if (loaded.current?.id !== first.id) loaded.current = { id: first.id, names: await loadNames(signal) };
      return { first, names: loaded.current.names };
    },
    `${job.id} ${job.operationId} ${job.state}`,
    () => REFRESH,
  );
  const text = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => announce(linesOf(text.current)), [data?.first.id]);
  if (!data) return null;
  return (
    <p ref={text} class="warning">
      {parts("import.waits", {
        operation: <a href={operationHref(data.first, data.names)}>{what(data.first, data.names)}</a>,
      })}
    </p>
  );
}
