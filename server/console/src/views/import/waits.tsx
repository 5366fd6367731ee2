import { call } from "../../api/client.ts";
import type { ImportJob } from "../../api/types.ts";
import { loadNames } from "../../components/operation_names.ts";
import { operationHref, what } from "../../components/operation_text.tsx";
import { useLoaded } from "../../load.ts";
import { parts } from "../../texts.ts";

const REFRESH = 2;

/** What has to end first: operations of an account, such as imports, run one after another. */
export function Waits({ job }: { job: ImportJob }) {
  const { data } = useLoaded(
    async (signal) => {
      const { operations } = await call("GET /api/operations", { query: { limit: 20 }, signal });
      // IDs are in the order of creation.
      const isEarlier = (id: string) => job.state === "READY" || id < job.operationId;
      const first = operations.findLast(
        ({ id, done, importId, type }) =>
          !done && type !== "WEBHOOK_REPLAY" && importId !== job.id && isEarlier(id),
      );
      return first && { first, names: await loadNames(signal) };
    },
    `${job.id} ${job.operationId} ${job.state}`,
    () => REFRESH,
  );
  if (!data) return null;
  return (
    <p class="warning" role="status">
      {parts("import.waits", {
        operation: <a href={operationHref(data.first, data.names)}>{what(data.first, data.names)}</a>,
      })}
    </p>
  );
}
