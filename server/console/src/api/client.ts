// Calls operations of the API. Paths, parameters, bodies and responses are typed by `Operations`.

import { compareClocks } from "../clock.ts";
import { base } from "../router.ts";
import { connectionLost, connectionWorks } from "../connection.ts";
import type { ErrorBody, ErrorDetail, GetCurrentSessionResponse, Operations } from "./types.ts";

/** How often a call is sent again after the status 429, and the longest wait before. */
const RETRIES = 2;
const MOST_SECONDS = 5;
/** The number of records that are read of a stream if only the first ones are needed. */
export const FIRST = 500;

type Operation = keyof Operations;
type Part<Name extends string, Value> = [Value] extends [undefined]
  ? { [K in Name]?: undefined }
  : Record<never, never> extends Value
    ? { [K in Name]?: Value }
    : { [K in Name]: Value };

export type Request<K extends Operation> = Part<"path", Operations[K]["path"]> &
  Part<"query", Operations[K]["query"]> &
  Part<"body", Operations[K]["body"]> & {
    /** The entity tag that the resource must still have: otherwise PreconditionFailed. */
    etag?: string;
    /** Identifies the request, so that it has no second effect if it is sent again. */
    idempotencyKey?: string;
    signal?: AbortSignal | undefined;
  };
type Arguments<K extends Operation> =
  Record<never, never> extends Request<K> ? [request?: Request<K>] : [request: Request<K>];

const SESSION = "/api/session";

/** An error response. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: ErrorDetail[];
  readonly requestId: string;

  constructor(status: number, error: ErrorBody) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.details = (error.details ?? []) as ErrorDetail[];
    this.requestId = error.requestId ?? "";
  }
}

/** The server did not respond, or a proxy did instead. */
export class ConnectionError extends Error {}

let onSignedOut = () => {};
/** The error of a call without a session. Until there is one again, others fail with it, and are not sent. */
let signedOut: ApiError | null = null;
/** How often a session was read, and its account and scope: calls can be answered for the one before. */
let sessions = 0;
let identity = "";

/** Sets what happens when a response states that there is no session. */
export function setSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/** Calls an operation and returns the body of its response. */
export async function call<K extends Operation>(
  operation: K,
  ...[request]: Arguments<K>
): Promise<Operations[K]["response"]> {
  return (await callTagged(operation, ...([request] as Arguments<K>))).body;
}

export interface Tagged<Body> {
  body: Body;
  etag: string;
  /** Identifies the call in the log of the server. */
  requestId: string;
  /** The token of the next page of a list; empty on the last one. */
  nextPage: string;
}

/** Calls an operation and returns the body of its response, and what its headers state. */
export async function callTagged<K extends Operation>(
  operation: K,
  ...[request]: Arguments<K>
): Promise<Tagged<Operations[K]["response"]>> {
  const { path, query, body, etag, idempotencyKey, signal } = (request ?? {}) as {
    path?: Record<string, string>;
    query?: Record<string, unknown>;
    body?: unknown;
    etag?: string;
    idempotencyKey?: string;
    signal?: AbortSignal;
  };
  const [method, template] = operation.split(" ") as [string, string];
  const headers: Record<string, string> = {};
  const isFile = body instanceof Blob;
  if (body !== undefined && !isFile) headers["Content-Type"] = "application/json";
  if (etag) headers["If-Match"] = etag;
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  const sentIn = sessions;
  const response = await send(url(template, path, query), {
    method,
    headers,
    ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  if (response.ok) {
    if (template === SESSION) {
      signedOut = null;
      sessions += 1;
      const { account, session } = (method === "GET" ? JSON.parse(text) : {}) as Partial<GetCurrentSessionResponse>;
      identity = account ? `${account.id} ${session?.scope}` : "";
    }
    const link = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? "";
    return {
      body: text ? JSON.parse(text) : undefined,
      etag: response.headers.get("ETag") ?? "",
      requestId: response.headers.get("X-Request-Id") ?? "",
      nextPage: new URLSearchParams(link.split("?")[1]).get("pageToken") ?? "",
    };
  }
  throw failure(response.status, text, template, sentIn);
}

/** Returns a key that identifies a request. Browsers have randomUUID over HTTPS only. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

async function send(target: string, options: RequestInit, retries = RETRIES): Promise<Response> {
  const isSession = target.endsWith(SESSION);
  if (signedOut && !isSession) throw signedOut;
  const sentIn = { sessions, identity };
  let response: Response;
  try {
    response = await fetch(target, { ...options, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connectionLost();
    throw new ConnectionError(String(error));
  }
  compareClocks(response.headers.get("Date"));
  if (response.status < 502 || response.status > 504) connectionWorks();
  else if (options.method === "GET") connectionLost();
  // The person has signed in again meanwhile, and the call had no effect.
  const isAgain = sentIn.sessions !== sessions && identity && sentIn.identity === identity;
  if (response.status === 401 && !isSession && isAgain) return await send(target, options, retries);
  const seconds = Number(response.headers.get("Retry-After"));
  // The call had no effect.
  if (response.status !== 429 || retries === 0 || seconds > MOST_SECONDS) return response;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return await send(target, options, retries - 1);
}

/** Returns the URL of an operation, which is next to the console. */
export function url(
  template: string,
  path: Record<string, string> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ""));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return new URL(`..${filled}`, location.origin + base).pathname + (text ? `?${text}` : "");
}

/** Calls an operation that streams records, and gives each to `take` until the stream ends; `open` when it begins. */
export async function callStream<Value>(
  operation: Operation,
  request: { path?: Record<string, string>; query?: Record<string, string>; signal: AbortSignal },
  open: () => void,
  take: (record: Value) => void,
): Promise<void> {
  const [, template] = operation.split(" ") as [string, string];
  const headers = { Accept: "application/x-ndjson" };
  const { path, query, signal } = request;
  const sentIn = sessions;
  const response = await send(url(template, path, query), { method: "GET", headers, signal });
  if (!response.ok || !response.body) throw failure(response.status, await response.text(), template, sentIn);
  open();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim()) take(JSON.parse(line) as Value);
    }
  } finally {
    // Unless the stream has ended, such as if `take` needs no more records.
    reader.cancel().catch(() => {});
  }
}

/** Calls an operation that streams records, and returns the first ones. */
export async function callFirst<Value>(
  operation: Operation,
  request: Parameters<typeof callStream>[1],
): Promise<Value[]> {
  const found: Value[] = [];
  try {
    await callStream<Value>(operation, request, () => {}, (record) => {
      if (found.push(record) === FIRST) throw found;
    });
  } catch (error) {
    if (error !== found) throw error;
  }
  return found;
}

function failure(status: number, text: string, template: string, sentIn: number): Error {
  const error = errorOf(text);
  if (!error) {
    connectionLost();
    return new ConnectionError(`HTTP ${status}`);
  }
  const failed = new ApiError(status, error);
  // Not if a person has signed in meanwhile.
  if (status === 401 && template !== SESSION && sentIn === sessions) {
    signedOut = failed;
    onSignedOut();
  }
  return failed;
}

function errorOf(text: string): ErrorBody | null {
  try {
    return (JSON.parse(text) as { error?: ErrorBody }).error ?? null;
  } catch {
    return null;
  }
}
