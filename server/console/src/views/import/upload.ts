// Uploads of files for imports, in parts. They continue in all views, and after a lost connection.

import { signal } from "@preact/signals";
import { ApiError, call, ConnectionError, randomKey } from "../../api/client.ts";
import type { ImportJob } from "../../api/types.ts";
import { session } from "../../session.ts";

/** The size of a part; the server accepts no larger one. */
const PART = 1 << 20;
const MOST_BYTES = 2 ** 31;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 10_000;
const MOST_REPEATS = 3;
/** The encoding of files that are not UTF-8, which can be changed. */
const OTHER_CHARSET = "windows-1252";

export interface Upload {
  id: string;
  name: string;
  size: number;
  /** Bytes that have arrived. */
  sent: number;
  /** Whether it waits for the server or for the session. */
  isWaiting: boolean;
  /** The error that stopped it; it can be continued. */
  error: unknown;
}

/** The reason that prevents the import of a file, as the end of a key of its text. */
export class FileError extends Error {
  readonly reason: "binary" | "empty" | "excel" | "large" | "other" | "gone";

  constructor(reason: FileError["reason"]) {
    super(reason);
    this.reason = reason;
  }
}

/** The uploads of this tab that have not ended. */
export const uploads = signal<readonly Upload[]>([]);
const files = new Map<string, File>();
/** The IDs of the imports whose files this tab has sent. What is read of them can be older. */
const sent = new Set<string>();

export function isSent(id: string): boolean {
  return sent.has(id);
}

export function uploadOf(id: string): Upload | undefined {
  return uploads.value.find((each) => each.id === id);
}

/** Reads a part of a file, which can be a folder too. */
function read(part: Blob): Promise<ArrayBuffer> {
  return part.arrayBuffer().catch(() => {
    throw new FileError("gone");
  });
}

/** Creates an import of a file, begins its upload, and returns its ID. */
export async function begin(file: File): Promise<string> {
  if (!file.size) throw new FileError("empty");
  if (file.size > MOST_BYTES) throw new FileError("large");
  if (/\.(xlsx?|ods|numbers)$/i.test(file.name)) throw new FileError("excel");
  const start = new Uint8Array(await read(file.slice(0, 512)));
  if (isText(start) && start.includes(0)) throw new FileError("binary");
  const body = { name: file.name.slice(0, 255), size: file.size, options: { onConflict: "UPDATE" } } as const;
  const created = await call("POST /api/imports", { body, idempotencyKey: randomKey() });
  void send(created.import, file);
  return created.import.id;
}

/** Continues the upload of an import with its file, which is chosen again. */
export async function resume(job: ImportJob, file: File): Promise<void> {
  if (file.size !== job.size) throw new FileError("other");
  const received = Number(job.received);
  // The same bytes have no effect; others are rejected.
  for (const offset of new Set([0, Math.max(0, received - PART)])) {
    const part = file.slice(offset, Math.min(offset + PART, received));
    if (part.size && !(await isSame(job.id, offset, part))) throw new FileError("other");
  }
  void send(job, file);
}

async function isSame(id: string, offset: number, part: Blob): Promise<boolean> {
  try {
    await put(id, offset, await read(part));
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === "UploadOffsetMismatch") return false;
    throw error;
  }
}

/** Continues an upload that stopped. */
export function retry(id: string): void {
  const file = files.get(id);
  const upload = uploadOf(id);
  if (!file || !upload) return;
  void call("GET /api/imports/{id}", { path: { id } }).then(
    (response) => send(response.import, file),
    (error: unknown) => change(id, { error }),
  );
}

/** Ends an upload, such as of an import that was canceled. */
export function forget(id: string): void {
  files.delete(id);
  uploads.value = uploads.value.filter((each) => each.id !== id);
}

function change(id: string, changes: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...changes } : each));
}

async function send(job: ImportJob, file: File): Promise<void> {
  const { id } = job;
  forget(id);
  sent.delete(id);
  files.set(id, file);
  const upload = { id, name: job.name, size: file.size, sent: Number(job.received), isWaiting: false, error: null };
  uploads.value = [...uploads.value, upload];
  addEventListener("beforeunload", warn);
  try {
    await sendParts(job, file);
    // It can have been canceled, or begun again.
    if (files.get(id) === file) {
      sent.add(id);
      forget(id);
    }
  } catch (error) {
    change(id, { error, isWaiting: false });
  }
  if (uploads.value.every((each) => each.error)) removeEventListener("beforeunload", warn);
}

/** Makes the browser ask before the page is closed. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

async function sendParts(job: ImportJob, file: File): Promise<void> {
  const { id } = job;
  let offset = Number(job.received);
  let wait = FIRST_WAIT;
  let repeats = 0;
  let decoder = offset ? null : new TextDecoder("utf-8", { fatal: true });
  while (offset < file.size && files.get(id) === file) {
    const bytes = await read(file.slice(offset, offset + PART));
    if (decoder && !offset && !isText(new Uint8Array(bytes))) decoder = null;
    try {
      if (decoder && !isValid(decoder, bytes)) {
        decoder = null;
        const body = { options: { ...job.options, charset: OTHER_CHARSET } };
        await call("PATCH /api/imports/{id}", { path: { id }, body });
      }
      offset = await put(id, offset, bytes);
      wait = FIRST_WAIT;
      repeats = 0;
    } catch (error) {
      if (!canRepeat(error)) throw error;
      const isLost = error instanceof ConnectionError || !isRejection(error);
      if (!isLost && (repeats += 1) > MOST_REPEATS) throw error;
      change(id, { isWaiting: isLost });
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT);
      const { state, received } = await current(job);
      if (state !== "UPLOADING") return;
      offset = Number(received);
      decoder = null;
    }
    change(id, { sent: offset, isWaiting: false });
  }
}

/** Reads the import once the server responds and someone is signed in. */
async function current(job: ImportJob): Promise<ImportJob> {
  for (;;) {
    try {
      if (session.value) return (await call("GET /api/imports/{id}", { path: { id: job.id } })).import;
    } catch (error) {
      if (!canRepeat(error)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT));
  }
}

/** Sends a part and returns the offset of the next one. */
async function put(id: string, offset: number, bytes: ArrayBuffer): Promise<number> {
  const query = { offset, ...(await digest(bytes)) };
  const body = new Blob([bytes]);
  return Number((await call("PUT /api/imports/{id}/content", { path: { id }, query, body })).import.received);
}

/** Browsers hash over HTTPS only. */
async function digest(bytes: ArrayBuffer): Promise<{ sha256?: string }> {
  if (!crypto.subtle) return {};
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { sha256: Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

function canRepeat(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof ApiError)) return false;
  const isTemporary = error.status === 429 || (error.status >= 500 && error.code !== "InsufficientStorage");
  return isTemporary || error.status === 401 || isRejection(error);
}

/** Returns whether the part did not arrive as it was sent. */
function isRejection(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const isAltered = error.details.some(({ field }) => field === "sha256");
  return error.code === "UploadOffsetMismatch" || isAltered;
}

/** Returns whether a file begins neither as a ZIP archive nor as UTF-16 with its mark. */
function isText([first, second]: Uint8Array): boolean {
  const start = ((first ?? 0) << 8) | (second ?? 0);
  return ![0x504b, 0xfffe, 0xfeff].includes(start);
}

function isValid(decoder: TextDecoder, bytes: ArrayBuffer): boolean {
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
