// The session of the person who is signed in.

import { computed, signal } from "@preact/signals";
import { ApiError, call, setSignedOut } from "./api/client.ts";
import type { GetCurrentSessionResponse } from "./api/types.ts";
import { restored } from "./connection.ts";

/** The session with its account; null if there is none, undefined until that is known. */
export const session = signal<GetCurrentSessionResponse | null | undefined>(undefined);
/** The error of the request that reads the session; null after a success. */
export const failure = signal<unknown>(null);
/** Whether the session ended while the console was open. Nothing of its views is visible then. */
export const hasEnded = signal(false);
export const canWrite = computed(() => ["write", "admin"].includes(scope()));
export const isAdmin = computed(() => scope() === "admin");

function scope(): string {
  return session.value?.session?.scope ?? "";
}

setSignedOut(() => {
  // The session stays, so that views keep what was typed until the person has signed in again.
  if (session.value) hasEnded.value = true;
  else session.value = null;
});

/** Reads the session of the person who is signed in. */
export async function load(): Promise<void> {
  try {
    session.value = await call("GET /api/session");
    failure.value = null;
    if (hasEnded.value) restored.value += 1;
    hasEnded.value = false;
  } catch (error) {
    failure.value = error;
    if (!(error instanceof ApiError && error.status === 401)) throw error;
    session.value = null;
  }
}

/** Continues if the person has signed in again in another tab. */
export async function resume(): Promise<void> {
  try {
    session.value = await call("GET /api/session");
  } catch {
    return;
  }
  restored.value += 1;
  hasEnded.value = false;
}

/** Begins a session with the token of a link, the whole link, or an API key. */
export async function signIn(text: string): Promise<void> {
  const token = text.trim();
  await call("POST /api/session", { body: { token: token.slice(token.indexOf("#") + 1) } });
  await load();
}

export async function signOut(): Promise<void> {
  await call("DELETE /api/session");
  forget();
}

export async function signOutEverywhere(): Promise<void> {
  await call("DELETE /api/sessions");
  forget();
}

function forget(): void {
  session.value = null;
  hasEnded.value = false;
}
