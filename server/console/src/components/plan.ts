// A change of many subscribers: what it would do is counted before it is done.

import { signal } from "@preact/signals";
import { ApiError, call, randomKey } from "../api/client.ts";
import type { Operation } from "../api/types.ts";
import { follow } from "../operations.ts";

/** Starts the operation of a plan. */
export type Start = (options: {
  dryRun: boolean;
  expectedTotal?: number;
  idempotencyKey: string;
}) => Promise<Operation>;

/** Counts what an action would do, and then does it with as many people. */
export class Plan {
  readonly key: string;
  /** The dry run; its numbers are complete when it is done. */
  readonly dryRun = signal<Operation | null>(null);
  readonly error = signal<unknown>(undefined);
  /** The number of people that was expected, if there are others now. */
  readonly before = signal<number | null>(null);
  readonly #start: Start;
  readonly #stop = new AbortController();

  constructor(key: string, start: Start, expectedTotal: number | undefined) {
    this.key = key;
    this.#start = start;
    void this.#count(expectedTotal);
  }

  /** The dry run if its numbers are complete. */
  get counted(): Operation | null {
    return this.dryRun.value?.state === "SUCCEEDED" ? this.dryRun.value : null;
  }

  /** Starts the change. Returns null if there are other people than were counted: they are counted again. */
  async run(): Promise<Operation | null> {
    const expectedTotal = this.counted?.total ?? 0;
    try {
      return await this.#start({ dryRun: false, expectedTotal, idempotencyKey: randomKey() });
    } catch (error) {
      if (!isOther(error)) throw error;
      this.before.value = expectedTotal;
      await this.#count();
      return null;
    }
  }

  /** Ends the count if nothing was started. */
  abandon(): void {
    this.#stop.abort();
    const { value } = this.dryRun;
    if (value && !value.done) cancel(value);
  }

  async #count(expectedTotal?: number): Promise<void> {
    this.dryRun.value = null;
    const { signal } = this.#stop;
    try {
      const started = await this.#begin(expectedTotal);
      if (signal.aborted) return cancel(started);
      this.dryRun.value = started;
      await follow(started, (current) => (this.dryRun.value = current), signal);
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }

  async #begin(expectedTotal?: number): Promise<Operation> {
    const options = { dryRun: true, idempotencyKey: randomKey() };
    if (expectedTotal === undefined) return this.#start(options);
    try {
      return await this.#start({ ...options, expectedTotal });
    } catch (error) {
      if (!isOther(error)) throw error;
      this.before.value = expectedTotal;
      return this.#start({ dryRun: true, idempotencyKey: randomKey() });
    }
  }
}

function isOther(error: unknown): boolean {
  return error instanceof ApiError && error.code === "SelectionChanged";
}

function cancel({ id, done }: Operation): void {
  if (!done) void call("POST /api/operations/{id}/cancel", { path: { id } }).catch(() => {});
}
