import { useEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { Operation } from "../../api/types.ts";
import { Icon, type IconName } from "../../components/icon.tsx";
import { OperationTitle, operationResult } from "../../components/operation_text.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { named, t } from "../../texts.ts";
import { hasView } from "../../views.ts";

const SHOWN = 5;
const INTERVAL = 2_000;
const ICONS: Record<Operation["state"], IconName> = {
  RUNNING: "clock",
  SUCCEEDED: "check",
  CANCELLED: "stop",
  FAILED: "warning",
};

/** The operations that run or ended last. Those that run are read again until they end. */
export function LastOperations({ onEnd }: { onEnd: () => void }) {
  const loaded = useLoaded(async (signal) => {
    return (await call("GET /api/operations", { query: { limit: SHOWN }, signal })).operations;
  });
  const running = loaded.data?.filter((each) => !each.done).length ?? 0;
  const before = useRef(0);
  useEffect(() => {
    if (running < before.current) {
      announce(t("doing.ended"));
      onEnd();
    }
    before.current = running;
    if (!running) return;
    const timer = setTimeout(loaded.reload, INTERVAL);
    return () => clearTimeout(timer);
  }, [loaded.data]);
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
  const title = <OperationTitle operation={operation} />;
  const { state, processed, total } = operation;
  return (
    <li class="operation">
      <span class={`outcome ${state.toLowerCase()}`} title={named("state", state)}>
        <Icon name={ICONS[state]} />
        <span class="unseen">{named("state", state)}</span>
      </span>
      <div>
        {hasView("/activity/1") ? <a href={href(`/activity/${operation.id}`)}>{title}</a> : <span>{title}</span>}
        {state === "RUNNING" && (
          <progress value={processed} max={Math.max(1, total)} aria-label={named("state", state)} />
        )}
        <small>
          {operationResult(operation)} · <Time value={operation.endedAt ?? operation.createdAt} as="ago" />
        </small>
      </div>
    </li>
  );
}
