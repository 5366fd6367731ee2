import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { announce, linesOf } from "../../announce.ts";
import { ApiError, ConnectionError } from "../../api/client.ts";
import type { ImportJob } from "../../api/types.ts";
import { useAskBeforeUnload } from "../../ask_before_unload.ts";
import { Back } from "../../components/back.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Bars, PartError } from "../../components/part.tsx";
import { restored } from "../../connection.ts";
import { repeat } from "../../load.ts";
import { canWrite } from "../../session.ts";
import { errorText, number, plural, t } from "../../texts.ts";
import { FileButton } from "./files.tsx";
import { ImportModel } from "./model.ts";
import { Ended, Running } from "./result.tsx";
import { forget, isSent, resume, retry, uploadOf } from "./upload.ts";
import { Waits } from "./waits.tsx";
import { Wizard } from "./wizard.tsx";
import { bytes, fileErrorText, JobState } from "./words.tsx";
import { useSignal } from "@preact/signals";

/** One import, from its upload to its result. */
export function ImportPage({ id }: { id: string }) {
  const model = useMemo(() => new ImportModel(id), [id]);
  const job = model.job.value;
  const error = model.error.value;
  const isUploading = Boolean(uploadOf(id));
  // The question stays when the file has arrived, or has been read.
  const cancels = useSignal(false);
  const onCancel = () => (cancels.value = true);
  const canCancel = job && ["UPLOADING", "INSPECTING", "READY"].includes(job.state);
  useLayoutEffect(() => {
    if (!canCancel) cancels.value = false;
  }, [canCancel]);
  useLayoutEffect(
    () =>
      repeat(async () => {
        await model.read();
        return model.interval;
      }),
    [model, restored.value, isUploading, job?.state],
  );
  useLayoutEffect(() => void model.resume(), [model, restored.value]);
  // A choice is stored after the file has been read with the one before.
  useAskBeforeUnload(model.draft.value !== null);
  const { state } = job ?? {};
  const upload = uploadOf(id);
  useLayoutEffect(() => {
    // The import was canceled in another tab, for example.
    if (state && state !== "UPLOADING" && upload?.error) forget(id);
  }, [state, upload]);
  const isMissing = error instanceof ApiError && error.status === 404;
  return (
    <div class="page wide-page import">
      <Back to="/import">{t("import.title")}</Back>
      {isMissing ? (
        <>
          <h1>{t("import.missing")}</h1>
          <p>{t("import.missingText")}</p>
        </>
      ) : (
        <>
          {job && (
            <header class="page-head">
              <h1>
                <bdi dir="auto" class="lines">{job.name}</bdi>
              </h1>
              <JobState job={job} />
              <span class="space" />
              {state === "READY" && canWrite.value && (
                <CancelButton onClick={onCancel} />
              )}
            </header>
          )}
          {error && !(error instanceof ConnectionError) ? (
            <PartError
              onRetry={() => {
                model.error.value = null;
                void (model.draft.value ? model.choose(model.draft.value) : model.read());
              }}
            >
              {errorText(error)}
            </PartError>
          ) : null}
          {job ? <State model={model} job={job} onCancel={onCancel} /> : !error && <Bars count={3} />}
          {cancels.value && canCancel && (
            <FormDialog
              title={t("import.cancelTitle")}
              verb={t("import.cancel")}
              danger
              onClose={() => (cancels.value = false)}
              onSubmit={async () => {
                await model.cancel();
                forget(id);
              }}
            >
              <p>{t("import.cancelText", { size: job.rows ? plural("import.rows", job.rows) : bytes(Number(job.size)) })}</p>
            </FormDialog>
          )}
        </>
      )}
    </div>
  );
}

interface StateProps {
  model: ImportModel;
  job: ImportJob;
  /** Asks whether to cancel the import. */
  onCancel: () => void;
}

function State({ model, job, onCancel }: StateProps) {
  const { state } = job;
  const before = useRef(state);
  useLayoutEffect(() => {
    if (before.current !== state) announce([t(`import.state.${state}`), linesOf(document.getElementById("numbers"))].filter(Boolean).join(". "));
    before.current = state;
  }, [state]);
  if (state === "UPLOADING") return <Uploading job={job} onCancel={onCancel} />;
  if (state === "RUNNING" && !job.dryRun) return <Running model={model} job={job} />;
  if (["SUCCEEDED", "CANCELLED", "FAILED"].includes(state)) return <Ended model={model} job={job} />;
  if (!job.rows && !job.problems.length && state === "INSPECTING") return <Inspecting job={job} />;
  if (!canWrite.value) return <p class="warning">{t("import.readOnly")}</p>;
  return <Wizard model={model} job={job} />;
}

/** The first time that the file is read. */
function Inspecting({ job }: { job: ImportJob }) {
  return (
    <div class="work" role="group" aria-label={t("import.reading")}>
      <p>{t("import.reading")}</p>
      <progress
        value={Number(job.processedBytes) || undefined}
        max={Number(job.size)}
        aria-label={t("import.reading")}
      />
      {!job.processed && <Waits job={job} />}
      <small>{job.processed > 0 && t("import.readRows", { count: number(job.processed) })}</small>
    </div>
  );
}

function Uploading({ job, onCancel }: Omit<StateProps, "model">) {
  const upload = uploadOf(job.id);
  const problem = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const total = Number(job.size);
  const sent = upload?.sent ?? (isSent(job.id) ? total : Number(job.received));
  const text = t("progress", { processed: bytes(sent), total: bytes(total) });
  return (
    <div class="work">
      <progress value={sent} max={total} aria-label={t("import.state.UPLOADING")} />
      <small>{text}</small>
      {upload?.error ? (
        <PartError onRetry={() => retry(job.id)}>{fileErrorText(upload.error)}</PartError>
      ) : upload || isSent(job.id) ? (
        <p class={upload?.isWaiting ? "warning" : "hint"}>
          {t(!upload ? "import.reading" : upload.isWaiting ? "import.waiting" : "import.keepOpen")}
        </p>
      ) : (
        canWrite.value && (
          <>
            <p>{t("import.chooseAgain")}</p>
            {problem.value ? (
              <p class="error" role="alert">
                {fileErrorText(problem.value)}
              </p>
            ) : null}
            <FileButton
              class="main"
              isBusy={isBusy.value}
              onFile={(file) => {
                problem.value = null;
                isBusy.value = true;
                resume(job, file)
                  .catch((error: unknown) => (problem.value = error))
                  .finally(() => (isBusy.value = false));
              }}
            />
          </>
        )
      )}
      {canWrite.value && <CancelButton onClick={onCancel} />}
    </div>
  );
}

function CancelButton({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" onClick={onClick}>
      {t("import.cancel")}…
    </button>
  );
}
