import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { Operation } from "../../api/types.ts";
import { loadNames } from "../../components/operation_names.ts";
import { type Names, OperationLabel, operationHref, Progress, result, what } from "../../components/operation_text.tsx";
import { isTrial } from "../../components/operation_words.ts";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { t } from "../../texts.ts";

const SHOWN = 5;
/** How many are read: trial runs among them are not shown. */
const READ = 50;
const REFRESH = 2;

/** The operations that run or ended last. Those that run are read again until they end. */
export function LastOperations({ onEnd }: { onEnd: () => void }) {
  const names = useRef<Names>(new Map());
  // The operations whose names were loaded.
  const named = useRef("");
  const loaded = useLoaded(
    async (signal) => {
      const { operations } = await call("GET /api/operations", { query: { limit: READ }, signal });
      const shown = operations.filter((each) => !isTrial(each)).slice(0, SHOWN);
      // Their titles have the names of files, webhooks and fields.
      const withNames = shown.filter(({ importId, replay, undoOf, action }) => importId || replay || undoOf || action?.setCustomFields);
      const key = withNames.map((each) => each.id).join();
      if (key && key !== named.current) {
        const found = await loadNames(signal).catch(() => null);
        if (found) {
          names.current = found;
          named.current = key;
        }
      }
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
                <Line key={operation.id} operation={operation} names={names.current} />
              ))}
            </ul>
          )
        }
      </Part>
    </section>
  );
}

function Line({ operation, names }: { operation: Operation; names: Names }) {
  return (
    <li class="operation">
      <div>
        <a class="lines" href={operationHref(operation, names)}>{what(operation, names)}</a>
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
