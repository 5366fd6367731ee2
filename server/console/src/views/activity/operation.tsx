import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { Back } from "../../components/back.tsx";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { loadNames } from "../../components/operation_names.ts";
import { Failures, OperationLabel, Progress, result, selection, what } from "../../components/operation_text.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { canUndo, UndoDialog } from "../../components/undo_dialog.tsx";
import { copy } from "../../copying.ts";
import { useShortcuts } from "../../keys.ts";
import { useLoaded } from "../../load.ts";
import { canCancel, cancel, isExport } from "../../operations.ts";
import { go, href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { number, plural, t } from "../../texts.ts";
import { Reasons } from "../import/reasons.tsx";
import { FailedRows } from "../import/result.tsx";
import { isRepeatable, operationCommand, RepeatDialog } from "./dialogs.tsx";
import { ExportFile } from "./export_file.tsx";

const REFRESH = 1;

/** One operation: its progress while it runs, and what it did. */
export function OperationDetail({ id }: { id: string }) {
  const question = useSignal<"" | "undo" | "repeat">("");
  const names = useLoaded(loadNames);
  const loaded = useLoaded(
    async (signal) => (await call("GET /api/operations/{id}", { path: { id }, signal })).operation,
    id,
    (operation) => (operation?.done === false ? REFRESH : 0),
  );
  const current = loaded.data;
  const copyCurl = () => void (current && copy(operationCommand(current)));
  useShortcuts([{ keys: ["y"], text: "keys.copyCurl", when: () => current !== undefined, run: copyCurl }]);
  const wasRunning = useRef(false);
  useLayoutEffect(() => {
    if (wasRunning.current && current?.done) announce(result(current));
    wasRunning.current = current?.done === false;
  }, [current]);

  return (
    <div class="page">
      <Back to="/activity">{t("activity.title")}</Back>
      <Part of={loaded}>
        {(operation) => {
          const known = names.data ?? new Map();
          const { undoOf, undoneBy, undoExpiresAt } = operation;
          return (
            <>
              <header class="page-head">
                <h1>{what(operation, known)}</h1>
                <OperationLabel operation={operation} />
                {operation.dryRun && <span class="state idle">{t("operation.trial")}</span>}
                <div class="line">
                  {canCancel(operation) && (
                    <button type="button" onClick={() => void cancel(operation).then(loaded.reload)}>
                      {t("operation.cancel")}
                    </button>
                  )}
                  {canUndo(operation) && (
                    <button type="button" onClick={() => (question.value = "undo")}>
                      {t("operation.undo")}…
                    </button>
                  )}
                  {canWrite.value && operation.done && isRepeatable(operation) && (
                    <button type="button" onClick={() => (question.value = "repeat")}>
                      {t("operation.repeat")}…
                    </button>
                  )}
                  <button type="button" onClick={copyCurl}>
                    <Icon name="copy" />
                    {t("curl")}
                  </button>
                </div>
              </header>
              <Progress operation={operation} />
              <p class="result">{result(operation)}</p>
              {operation.state === "FAILED" && (
                <p class="error">
                  <bdi dir="auto" lang="en">
                    {operation.error?.message}
                  </bdi>{" "}
                  {!isExport(operation) && !operation.dryRun && t("operation.endedEarly")}
                </p>
              )}
              {operation.importId ? <Reasons reasons={operation.failed} /> : <Failures failed={operation.failed} />}
              {operation.importId && known.has(operation.importId) && (
                <>
                  {operation.failed.length > 0 && operation.type === "SUBSCRIBERS_IMPORT" && !operation.dryRun && (
                    <FailedRows id={operation.importId} />
                  )}
                  <a href={href(`/import/${operation.importId}`)}>{t("import.open")}</a>
                </>
              )}
              {operation.type === "SUBSCRIBERS_EXPORT" && <ExportFile operation={operation} />}
              <dl class="facts">
                {!undoOf && !operation.importId && (
                  <Fact title={t(operation.replay ? "events" : "selection")}>
                    {selection(operation, known)}
                    {operation.filter && (
                      <code class="below" dir="auto">
                        {operation.filter}
                      </code>
                    )}
                    {Boolean(operation.excluded) && (
                      <small class="below">{plural("selection.without", operation.excluded ?? 0)}</small>
                    )}
                  </Fact>
                )}
                <Fact title={t("who")}>
                  <ActorName actor={operation.actor} />
                </Fact>
                <Fact title={t("started")}>
                  <Time value={operation.createdAt} />
                </Fact>
                {operation.endedAt && (
                  <Fact title={t("ended")}>
                    <Time value={operation.endedAt} />{" "}
                    <small>{t("operation.rate", { count: number(operation.rate) })}</small>
                  </Fact>
                )}
                {(undoOf || undoneBy) && (
                  <Fact title={t(undoOf ? "operation.undoes" : "operation.undoneBy")}>
                    <a href={href(`/activity/${undoOf ?? undoneBy}`)}>{t("show")}</a>
                  </Fact>
                )}
                {undoExpiresAt && (
                  <Fact title={t("operation.undoUntil")}>
                    <Time value={undoExpiresAt} />
                  </Fact>
                )}
              </dl>
              {question.value === "undo" && (
                <UndoDialog
                  operation={operation}
                  onStart={(undo) => go(`/activity/${undo.id}`)}
                  onClose={() => (question.value = "")}
                />
              )}
              {question.value === "repeat" && (
                <RepeatDialog
                  operation={operation}
                  names={known}
                  onClose={() => (question.value = "")}
                />
              )}
            </>
          );
        }}
      </Part>
    </div>
  );
}
