import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Operation } from "../api/types.ts";
import { ActorName } from "../components/actor_name.tsx";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { Part } from "../components/part.tsx";
import { isTrial } from "../components/operation_words.ts";
import { loadNames } from "../components/operation_names.ts";
import { OperationLabel, operationHref, Progress, result, selection, what } from "../components/operation_text.tsx";
import { More, usePaged } from "../components/paged.tsx";
import { Time } from "../components/time.tsx";
import { canUndo, UndoDialog } from "../components/undo_dialog.tsx";
import { copy } from "../copying.ts";
import { useLoaded } from "../load.ts";
import { canCancel, cancel } from "../operations.ts";
import { address, go, withQuery } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { canWrite } from "../session.ts";
import { exactTime, named, number, t } from "../texts.ts";
import { isRepeatable, operationCommand, RepeatDialog } from "./activity/dialogs.tsx";
import { OperationDetail } from "./activity/operation.tsx";

const PAGE = 50;
const REFRESH_RUNNING = 2;
const REFRESH = 15;

/** What ran and runs in the background: all operations, running ones first, or one of them. */
export function Activity({ id }: Parameters) {
  return id ? <OperationDetail key={id} id={id} /> : <OperationList />;
}

function OperationList() {
  const names = useLoaded(loadNames);
  const paged = usePaged(
    "GET /api/operations",
    { limit: PAGE },
    (body) => body.operations,
    (operations) => (operations.some(({ done }) => !done) ? REFRESH_RUNNING : REFRESH),
  );
  const undone = useSignal<Operation | null>(null);
  const repeated = useSignal<Operation | null>(null);
  const showsTrials = address.value.query.has("trials");
  return (
    <div class="page wide-page">
      <header class="page-head">
        <h1>{t("activity.title")}</h1>
        <span class="space" />
        <label class="check-line">
          <input
            type="checkbox"
            checked={showsTrials}
            onChange={(event) => go(withQuery({ trials: event.currentTarget.checked ? "1" : "" }))}
          />
          {t("activity.trials")}
        </label>
      </header>
      <Part of={paged} bars={6}>
        {(operations) => {
          const shown = operations.filter((each) => showsTrials || !isTrial(each));
          if (!shown.length) return <p class="muted">{t("activity.empty")}</p>;
          const known = names.data ?? new Map();
          return (
            <table class="table activities" aria-busy={paged.isBusy}>
              <thead>
                <tr>
                  <th>{t("what")}</th>
                  <th>{t("state")}</th>
                  <th>{t("result")}</th>
                  <th class="wide">{t("who")}</th>
                  <th class="wide">{t("started")}</th>
                  <th>
                    <span class="unseen">{t("actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {shown.toSorted(runningFirst).map((operation) => (
                  <tr key={operation.id}>
                    <td class="name">
                      <a id={`row-${operation.id}`} class="row-link" href={operationHref(operation, known)}>
                        <span class="lines">{what(operation, known)}</span>
                        <span class="unseen"> {exactTime(operation.createdAt)}</span>
                      </a>
                      <small class="below lines">{selection(operation, known)}</small>
                    </td>
                    <td>
                      <OperationLabel operation={operation} />
                      {operation.dryRun && <small class="below">{t("operation.trial")}</small>}
                      {operation.undoneBy && <small class="below">{t("verb.undone")}</small>}
                    </td>
                    <td>
                      {operation.done ? result(operation) : <Progress operation={operation} />}
                      {!operation.importId && operation.failed.length > 0 && (
                        <small class="below lines">
                          {operation.failed.map(({ reason, total }) => `${number(total)} ${named("reason", reason)}`).join(" · ")}
                        </small>
                      )}
                      {operation.error && (
                        <small class="below lines" dir="auto" lang="en">
                          {operation.error.message}
                        </small>
                      )}
                    </td>
                    <td class="wide name">
                      <ActorName actor={operation.actor} />
                    </td>
                    <td class="wide">
                      <Time value={operation.createdAt} as="ago" />
                    </td>
                    <td class="end">
                      {canCancel(operation) && (
                        <Action id={operation.id} text={t("operation.cancel")} run={() => void cancel(operation).then(paged.reload)} />
                      )}
                      {canUndo(operation) && (
                        <Action id={operation.id} text={t("undo")} run={() => (undone.value = operation)} />
                      )}
                      <OperationMenu operation={operation} onRepeat={() => (repeated.value = operation)} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          );
        }}
      </Part>
      <More paged={paged} />
      {undone.value && (
        <UndoDialog operation={undone.value} onStart={paged.reload} onClose={() => (undone.value = null)} />
      )}
      {repeated.value && (
        <RepeatDialog
          operation={repeated.value}
          names={names.data ?? new Map()}
          onClose={() => (repeated.value = null)}
        />
      )}
    </div>
  );
}

/** What else can be done with an operation. */
function OperationMenu({ operation, onRepeat }: { operation: Operation; onRepeat: () => void }) {
  return (
    <Menu class="plain" title={t("actions.more")} of={`row-${operation.id}`} label={<Icon name="more" />}>
      {canWrite.value && operation.done && isRepeatable(operation) && (
        <button type="button" onClick={onRepeat}>
          {t("operation.repeat")}…
        </button>
      )}
      <button type="button" onClick={() => void copy(operationCommand(operation))}>
        {t("curl")}
      </button>
    </Menu>
  );
}

/** A button for the operation with this ID, whose title is a part of its name. */
function Action({ id, text, run }: { id: string; text: string; run: () => void }) {
  const own = useId();
  return (
    <button id={own} type="button" class="plain" aria-labelledby={`${own} row-${id}`} onClick={run}>
      {text}
    </button>
  );
}

function runningFirst(a: Operation, b: Operation): number {
  return Number(a.done) - Number(b.done);
}
