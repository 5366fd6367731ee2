import { call, randomKey } from "../../api/client.ts";
import type { BatchChangeSubscribersRequest, Operation } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type Names, selection, what } from "../../components/operation_text.tsx";
import { PlanDialog } from "../../components/plan_dialog.tsx";
import { apiCommand } from "../../copying.ts";
import { go } from "../../router.ts";
import { number, parts, plural, t } from "../../texts.ts";

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

interface Props {
  operation: Operation;
  names: Names;
  onClose: () => void;
}

/** Starts the same operation again, after a dry run stated what that changes today. */
export function RepeatDialog(props: Props) {
  return props.operation.replay ? <RepeatReplay {...props} /> : <RepeatChange {...props} />;
}

function RepeatChange({ operation, names, onClose }: Props) {
  const isDeletion = Boolean(operation.action?.delete);
  const isRisky = isDeletion || Boolean(operation.action?.changeStatus);
  return (
    <PlanDialog
      title={what(operation, names)}
      verb={(count, counted) =>
        plural(isDeletion ? "batch.button.delete" : "batch.button.field", counted?.wouldChange ?? count)
      }
      keep={t("repeat.keep")}
      danger={isRisky}
      mustType={isDeletion}
      plan={operation.id}
      counts="now"
      size={operation.total}
      isExact={false}
      start={async ({ idempotencyKey, ...options }) => {
        const body = { ...requestOf(operation), ...options };
        return (await call("POST /api/subscribers/batch", { body, idempotencyKey })).operation;
      }}
      numbers={({ total, wouldChange = 0, unchanged = 0 }) => (
        <p>
          {parts("repeat.text", {
            total: <b>{number(total)}</b>,
            selection: <i>{selection(operation, names)}</i>,
            count: <b>{number(wouldChange)}</b>,
          })}{" "}
          {unchanged > 0 && plural("repeat.unchanged", unchanged)}{" "}
          {isRisky && wouldChange > 0 && t(isDeletion ? "batch.deleteText" : "batch.noMail")}
        </p>
      )}
      onStart={(started) => go(`/activity/${started.id}`)}
      onClose={onClose}
    />
  );
}

function RepeatReplay({ operation, names, onClose }: Props) {
  return (
    <FormDialog
      title={what(operation, names)}
      verb={t("replay.verb")}
      onClose={onClose}
      onSubmit={async () => {
        const started = await call("POST /api/webhooks/{id}/replay", {
          path: { id: operation.replay?.webhookId ?? "" },
          body: replayOf(operation),
          idempotencyKey: randomKey(),
        });
        go(`/activity/${started.operation.id}`);
      }}
    >
      <p>{t("replay.text")}</p>
      <p>{selection(operation, names)}</p>
    </FormDialog>
  );
}
