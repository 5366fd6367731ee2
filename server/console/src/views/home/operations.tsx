import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { Operation } from "../../api/types.ts";
import { OperationLabel, Progress, result, what } from "../../components/operation_text.tsx";
import { isTrial } from "../../components/operation_words.ts";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { loadFields } from "../../filter_fields.ts";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { t } from "../../texts.ts";

const SHOWN = 5;
/** How many are read: trial runs among them are not shown. */
const READ = 50;
const REFRESH = 2;

/** The operations that run or ended last. Those that run are read again until they end. */
export function LastOperations({ onEnd }: { onEnd: () => void }) {
  // The fields whose names were loaded.
  const named = useRef("");
  const loaded = useLoaded(
    async (signal) => {
      const { operations } = await call("GET /api/operations", { query: { limit: READ }, signal });
      const shown = operations.filter((each) => !isTrial(each)).slice(0, SHOWN);
      // Their titles have the names of fields.
      const keys = shown.flatMap(({ action }) => Object.keys(action?.setCustomFields ?? {})).join();
      if (keys && keys !== named.current) await loadFields(signal).then(() => (named.current = keys), () => {});
      return shown;
    },
    "",
    (operations) => (operations?.some((each) => !each.done) ? REFRESH : 0),
  );
  const running = loaded.data?.filter((each) => !each.done).length ?? 0;
  const before = useRef(0);
  useLayoutEffect(() => {
    if (running < before.current) {
      announce(t("operations.ended"));
      onEnd();
    }
    before.current = running;
  }, [running]);
  return (
    <section class="block" aria-labelledby="operations">
      <header>
        <h2 id="operations">{t("operations.title")}</h2>
      </header>
      <Part of={loaded}>
        {(operations) =>
          operations.length === 0 ? (
            <p class="hint">{t("operations.none")}</p>
          ) : (
            <ul class="entries">
              {operations.map((operation) => (
                <Line key={operation.id} operation={operation} />
              ))}
            </ul>
          )
        }
      </Part>
    </section>
  );
}

function Line({ operation }: { operation: Operation }) {
  return (
    <li class="operation">
      <div>
        <a href={href(`/activity/${operation.id}`)}>{what(operation)}</a>
        {!operation.done && <Progress operation={operation} />}
        <small>
          {operation.done && `${result(operation)} · `}
          <Time value={operation.endedAt ?? operation.createdAt} as="ago" />
        </small>
      </div>
      <OperationLabel operation={operation} />
    </li>
  );
}
