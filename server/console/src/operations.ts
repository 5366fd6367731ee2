// Operations that this person started: their progress is shown until they end, in all views.

import { effect, signal } from "@preact/signals";
import { announce, notify } from "./announce.ts";
import { ApiError, call, ConnectionError, url } from "./api/client.ts";
import type { Operation } from "./api/types.ts";
import { doneText, failures } from "./components/operation_words.ts";
import { canWrite, session } from "./session.ts";
import { errorText } from "./texts.ts";

const FIRST_WAIT = 100;
const LONGEST_WAIT = 1_000;
const RETRY_WAIT = 3_000;

/** The operations in notices, newest last. */
export const followed = signal<Operation[]>([]);
/** The number of operations that ended: lists load again when it changes. */
export const ended = signal(0);

let account = "";
/** Stops following when another account signs in, or the person signs out. */
let following = new AbortController();
effect(() => {
  const current = session.value?.account?.id ?? "";
  if (current === account) return;
  account = current;
  following.abort();
  following = new AbortController();
  followed.value = [];
});

/** Shows the progress of an operation, and then what it did. Gives its last state to `take`. */
export function track(operation: Operation, take: (last: Operation) => void = () => {}): void {
  const { signal: stopped } = following;
  show(operation);
  void follow(operation, (current) => !stopped.aborted && show(current), stopped).then(
    (last) => {
      if (stopped.aborted) return;
      // An undo that succeeded offers nothing more to do.
      if (last.undoOf && last.state === "SUCCEEDED" && !failures(last).length) {
        dismiss(last.id);
        notify(doneText(last));
      } else announce(doneText(last));
      if (!isExport(last)) ended.value += 1;
      take(last);
    },
    () => dismiss(operation.id),
  );
}

function show(operation: Operation): void {
  const others = followed.value.filter((each) => each.id !== operation.id);
  followed.value = others.length < followed.value.length
    ? followed.value.map((each) => (each.id === operation.id ? operation : each))
    : [...others, operation];
}

export function isExport({ type }: Operation): boolean {
  return type === "SUBSCRIBERS_EXPORT";
}

/** Returns the URL of the file of an export; empty if there is none. */
export function fileUrl(operation: Operation): string {
  const hasFile = isExport(operation) && operation.state === "SUCCEEDED";
  return hasFile ? url("/api/exports/{id}/file", { id: operation.id }) : "";
}

/** Downloads the file of an export that has ended. */
export function save(operation: Operation): void {
  const link = document.createElement("a");
  link.href = fileUrl(operation);
  link.download = "";
  if (fileUrl(operation)) link.click();
}

/** Whether this session may cancel an operation: with the scope read, an export of its own only. */
export function canCancel(operation: Operation): boolean {
  const isOwn = isExport(operation) && operation.actor?.id === session.value?.session?.id;
  return !operation.done && (canWrite.value || isOwn);
}

/** Cancels an operation, or says why not. */
export async function cancel(operation: Operation): Promise<void> {
  const request = { path: { id: operation.id } };
  try {
    await (isExport(operation) ? call("POST /api/exports/{id}/cancel", request) : call("POST /api/operations/{id}/cancel", request));
  } catch (error) {
    notify(errorText(error));
  }
}

export function dismiss(id: string): void {
  followed.value = followed.value.filter((each) => each.id !== id);
}

/** Shows the running operations of this session, such as after a reload of the page. */
export async function resume(): Promise<void> {
  const own = session.value?.session?.id;
  const { operations } = await call("GET /api/operations", { query: { limit: 20 } });
  for (const operation of operations.toReversed()) {
    const isChange = Boolean(operation.action ?? operation.undoOf) || isExport(operation);
    // It can have been started after the list was asked for.
    const isFollowed = followed.value.some((each) => each.id === operation.id);
    if (isChange && !isFollowed && !operation.done && !operation.dryRun && operation.actor?.id === own) track(operation);
  }
}

/**
 * Reads an operation until it ends, and gives each state to `take`.
 *
 * It asks again and again instead of reading a stream, because browsers limit the connections of
 * all tabs to a server.
 */
export async function follow(
  operation: Operation,
  take: (current: Operation) => void,
  signal?: AbortSignal,
): Promise<Operation> {
  let current = operation;
  for (let wait = FIRST_WAIT; !current.done; wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    try {
      const path = { id: operation.id };
      current = (await call("GET /api/operations/{id}", { path, signal })).operation;
      take(current);
    } catch (error) {
      // After 401, the person can sign in again.
      const isTemporary = error instanceof ApiError && ([401, 429].includes(error.status) || error.status >= 500);
      if (signal?.aborted || (!isTemporary && !(error instanceof ConnectionError))) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_WAIT));
    }
  }
  return current;
}
