import { useSignal } from "@preact/signals";
import { call, url } from "../../api/client.ts";
import type { ImportJob, ImportSummary } from "../../api/types.ts";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { ActorName } from "../../components/actor_name.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { canUndo, UndoDialog } from "../../components/undo_dialog.tsx";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { named, number, plural, t } from "../../texts.ts";
import { STATUSES } from "../subscribers/list.ts";
import { Reasons } from "./reasons.tsx";
import type { ImportModel } from "./model.ts";
import { Waits } from "./waits.tsx";
import type { StepProps } from "./wizard.tsx";

/** Progress of an import or its dry run, and a button that ends it. */
export function Work({ job, onCancel }: { job: ImportJob; onCancel: (() => void) | undefined }) {
  const { processed, rows } = job;
  const text = t("progress", { processed: number(processed), total: number(rows) });
  return (
    <div class="work">
      <progress value={processed} max={rows || 1} aria-label={text} />
      <small>{text}</small>
      {!processed && <Waits job={job} />}
      {canWrite.value && onCancel && (
        <button type="button" onClick={onCancel}>
          {t("operation.cancel")}
        </button>
      )}
    </div>
  );
}

/** An import that runs. */
export function Running({ model, job }: StepProps) {
  return (
    <>
      <p>{t("import.mayClose")}</p>
      <Work job={job} onCancel={() => void model.cancel().catch(() => {})} />
      {job.summary && job.processed > 0 && <Numbers summary={job.summary} />}
    </>
  );
}

/** Result of an import that has ended. */
export function Ended({ model, job }: { model: ImportModel; job: ImportJob }) {
  const undoes = useSignal(false);
  const { state, summary, error, undoneBy, undoExpiresAt } = job;
  const isDone = summary !== undefined && !job.dryRun;
  const people = isDone ? summary.created + summary.updated : 0;
  const operation = {
    id: job.operationId,
    type: "SUBSCRIBERS_IMPORT",
    changed: people,
    undoExpiresAt,
  } as const;
  const undoable = canUndo(operation);
  return (
    <>
      {state === "CANCELLED" && <p>{t(isDone ? "import.canceledText" : "import.canceledEarly")}</p>}
      {state === "FAILED" && (
        <p class="error">
          {t("import.failedText")} <bdi dir="auto">{error?.message}</bdi>
        </p>
      )}
      {isDone && (
        <div id="numbers">
          <Numbers summary={summary} />
        </div>
      )}
      {undoneBy && <Undo id={undoneBy} />}
      <div class="line">
        {people > 0 && (
          <a class="button" href={href("/subscribers")}>
            {t("import.showPeople")}
          </a>
        )}
        {state === "FAILED" && canWrite.value && (
          <a class="button" href={href("/import")}>
            {t("steps.import")}
          </a>
        )}
        {undoable && (
          <button type="button" onClick={() => (undoes.value = true)}>
            {t("undo")}
          </button>
        )}
      </div>
      {isDone && <Failed job={job} summary={summary} />}
      <dl class="facts">
        <Fact title={t("who")}>
          <ActorName actor={job.actor} />
        </Fact>
        {job.startedAt && (
          <Fact title={t("started")}>
            <Time value={job.startedAt} />
          </Fact>
        )}
        {job.endedAt && (
          <Fact title={t("ended")}>
            <Time value={job.endedAt} />
          </Fact>
        )}
        {undoable && undoExpiresAt && (
          <Fact title={t("operation.undoUntil")}>
            <Time value={undoExpiresAt} />
          </Fact>
        )}
        <Fact title={t("import.keptUntil")}>
          <Time value={job.expiresAt} />
        </Fact>
      </dl>
      {undoes.value && (
        <UndoDialog
          operation={operation}
          onStart={() => void model.read()}
          onClose={() => (undoes.value = false)}
        />
      )}
    </>
  );
}

/** Whether an import was undone, or is being undone; nothing if that was canceled or failed. */
function Undo({ id }: { id: string }) {
  const read = async (signal: AbortSignal) => (await call("GET /api/operations/{id}", { path: { id }, signal })).operation;
  const undo = useLoaded(read, id, (operation) => (operation?.done === false ? 1 : 0)).data;
  if (!undo || (undo.done && undo.state !== "SUCCEEDED")) return null;
  return (
    <p class="warning">
      {t(undo.done ? "import.undone" : "import.undoing")} <a href={href(`/activity/${id}`)}>{t("show")}</a>
    </p>
  );
}

/** The rows that fail: why, and as a file. */
export function Failed({ job, summary }: { job: ImportJob; summary: ImportSummary }) {
  if (!summary.failed && !summary.rowsWithDroppedCells) return null;
  return (
    <>
      <Reasons job={job} reasons={summary.reasons} />
      <FailedRows id={job.id} />
    </>
  );
}

/** Downloads the failed rows of an import. */
export function FailedRows({ id }: { id: string }) {
  return (
    <p class="line">
      <a class="button" href={url("/api/imports/{id}/failures", { id }, { format: "CSV" })} download>
        <Icon name="download" />
        {t("import.failedRows")}
      </a>
      <small>{t("import.failedRowsHint")}</small>
    </p>
  );
}

/** Numbers of the rows of an import or a dry run by their result. */
export function Numbers({ summary }: { summary: ImportSummary }) {
  const suppressed = totalOf(summary, "SUPPRESSED");
  const filtered = totalOf(summary, "FILTERED");
  const { created, updated, failed, skipped, statuses, optedOut, stayedOptedOut } = summary;
  const people = [
    ["created", created, "good"],
    ["updated", updated, ""],
  ] as const;
  const others = [
    ["optedOut", optedOut, "part bad"],
    ["stayedOptedOut", stayedOptedOut, "part"],
    ["suppressed", suppressed, "bad"],
    ["filtered", filtered, ""],
    ["existing", skipped - filtered, ""],
    ["failed", failed - suppressed, "bad"],
  ] as const;
  const lines = (all: typeof people | typeof others) =>
    all
      .filter(([, count]) => count > 0)
      .map(([name, count, kind]) => (
        <li key={name} class={kind}>
          <b>{number(count)}</b> <span>{plural(`import.number.${name}`, count)}</span>
        </li>
      ));
  return (
    <ul class="import-numbers">
      {lines(people)}
      {STATUSES.map((status) => {
        const count = statuses[status];
        return (
          count && (
            <li key={status} class="part">
              <b>{number(count)}</b>{" "}
              <span>
                {t("import.number.ofThem")} <StatusLabel status={status} /> <small>{named("statusMeaning", status)}</small>
              </span>
            </li>
          )
        );
      })}
      {lines(others)}
      {created + updated === 0 && <li>{t("import.nothing")}</li>}
    </ul>
  );
}

function totalOf({ reasons }: ImportSummary, reason: string): number {
  return reasons.find((each) => each.reason === reason)?.total ?? 0;
}
