import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { call, callStream } from "../../api/client.ts";
import type { BatchChangeSubscribersRequest, Operation, WatchOperationResponse } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Shown, useLoaded } from "../../components/loaded.tsx";
import { apiCommand } from "../../copying.ts";
import { go } from "../../router.ts";
import { number, parts, plural, t } from "../../texts.ts";
import { Failures, type Names, selection, what } from "./words.tsx";

/** The number of people from which a deletion is confirmed by typing it. */
const TYPED = 100;

/** Whether the same request can be sent again: the API returns no identifiers of it. */
export function isRepeatable(operation: Operation): boolean {
  const { action, filter, segmentId, q, excluded, replay } = operation;
  if (replay) return Boolean(replay.since);
  // Many people are not subscribed again at once: each has to ask for it.
  if (action?.changeStatus && ["CONFIRMED", "UNCONFIRMED"].includes(action.changeStatus)) return false;
  return Boolean(action && (filter || segmentId || q) && !excluded);
}

function requestOf({ filter, segmentId, q, action }: Operation): BatchChangeSubscribersRequest {
  return {
    ...(filter ? { filter } : {}),
    ...(segmentId ? { segmentId } : {}),
    ...(q ? { q } : {}),
    action: action ?? {},
  };
}

function replayOf({ replay }: Operation) {
  return {
    since: replay?.since ?? "",
    ...(replay?.until ? { until: replay.until } : {}),
    ...(replay?.eventTypes.length ? { eventTypes: replay.eventTypes } : {}),
    onlyFailed: replay?.onlyFailed ?? false,
  };
}

/** Returns a command that starts the same operation, or that reads one that cannot be repeated. */
export function operationCommand(operation: Operation): string {
  const { id, replay, undoOf } = operation;
  if (replay) return apiCommand("POST", `/api/webhooks/${replay.webhookId}/replay`, replayOf(operation));
  if (undoOf) return apiCommand("POST", `/api/operations/${undoOf}/undo`, {});
  if (isRepeatable(operation)) return apiCommand("POST", "/api/subscribers/batch", requestOf(operation));
  return apiCommand("GET", `/api/operations/${id}`);
}

/** Returns an operation when it has ended. */
export async function ended(operation: Operation, signal: AbortSignal): Promise<Operation> {
  let latest = operation;
  const request = { path: { id: operation.id }, signal };
  if (!operation.done) {
    await callStream<WatchOperationResponse>("GET /api/operations/{id}/watch", request, (record) => {
      latest = record.operation;
    });
  }
  return latest;
}

/** Undoes an operation, after a trial run stated what that changes. */
export function UndoDialog({ operation, onClose }: { operation: Operation; onClose: () => void }) {
  const path = { id: operation.id };
  const trial = useLoaded(operation.id, async (signal) => {
    const body = { dryRun: true };
    const started = await call("POST /api/operations/{id}/undo", { path, body, signal });
    return ended(started.operation, signal);
  });
  const count = trial.data?.wouldChange ?? 0;
  return (
    <FormDialog
      title={t("undo.title")}
      verb={plural("undo.verb", count)}
      keep={t("undo.keep")}
      disabled={!count}
      onClose={onClose}
      onSubmit={async () => {
        const body = {};
        const idempotencyKey = crypto.randomUUID();
        const undo = await call("POST /api/operations/{id}/undo", { path, body, idempotencyKey });
        onClose();
        go(`/activity/${undo.operation.id}`);
      }}
    >
      <Shown loaded={trial} rows={2}>
        {(tried) => (
          <>
            <p>{plural("undo.text", count)}</p>
            {tried.failed.length > 0 && (
              <div>
                <p>{t("undo.stays")}</p>
                <Failures failed={tried.failed} />
              </div>
            )}
          </>
        )}
      </Shown>
    </FormDialog>
  );
}

/** Starts the same operation again, after a trial run stated what that changes today. */
export function RepeatDialog(props: { operation: Operation; names: Names; onClose: () => void }) {
  return props.operation.replay ? <RepeatReplay {...props} /> : <RepeatChange {...props} />;
}

function RepeatChange({
  operation,
  names,
  onClose,
}: {
  operation: Operation;
  names: Names;
  onClose: () => void;
}) {
  const typed = useSignal("");
  const request = requestOf(operation);
  const trial = useLoaded(operation.id, async (signal) => {
    const started = await call("POST /api/subscribers/batch", {
      body: { ...request, dryRun: true },
      signal,
    });
    return ended(started.operation, signal);
  });
  const { action } = operation;
  const count = trial.data?.wouldChange ?? 0;
  const mustType = Boolean(action?.delete) && count >= TYPED;
  const isRisky = Boolean(action?.delete || action?.changeStatus);
  const warning = isRisky && count > 0 && t(action?.delete ? "repeat.delete" : "repeat.optOut");
  return (
    <FormDialog
      title={what(operation, names)}
      verb={plural(action?.delete ? "repeat.verbDelete" : "repeat.verb", count)}
      keep={t("repeat.keep")}
      danger={isRisky}
      disabled={!count || (mustType && typed.value.trim() !== String(count))}
      onClose={onClose}
      onSubmit={async () => {
        const started = await call("POST /api/subscribers/batch", {
          // The people who matched in the trial run.
          body: { ...request, expectedTotal: trial.data?.total ?? 0 },
          idempotencyKey: crypto.randomUUID(),
        });
        onClose();
        go(`/activity/${started.operation.id}`);
      }}
    >
      <Shown loaded={trial} rows={2}>
        {({ total, unchanged }) => (
          <>
            <p>
              {parts("repeat.text", {
                total: <b>{number(total)}</b>,
                selection: <i>{selection(operation, names)}</i>,
                count: <b>{number(count)}</b>,
              })}{" "}
              {Boolean(unchanged) && plural("repeat.unchanged", unchanged ?? 0)} {warning}
            </p>
            <Failures failed={trial.data?.failed ?? []} />
            {mustType && (
              <label class="field">
                {t("repeat.type", { count: String(count) })}
                <input
                  inputMode="numeric"
                  autocomplete="off"
                  value={typed.value}
                  onInput={(event) => (typed.value = event.currentTarget.value)}
                />
              </label>
            )}
          </>
        )}
      </Shown>
    </FormDialog>
  );
}

function RepeatReplay({
  operation,
  names,
  onClose,
}: {
  operation: Operation;
  names: Names;
  onClose: () => void;
}) {
  const events: ComponentChildren = selection(operation, names);
  return (
    <FormDialog
      title={what(operation, names)}
      verb={t("replay.verb")}
      onClose={onClose}
      onSubmit={async () => {
        const started = await call("POST /api/webhooks/{id}/replay", {
          path: { id: operation.replay?.webhookId ?? "" },
          body: replayOf(operation),
          idempotencyKey: crypto.randomUUID(),
        });
        onClose();
        go(`/activity/${started.operation.id}`);
      }}
    >
      <p>{t("replay.text")}</p>
      <p>{events}</p>
    </FormDialog>
  );
}
