// One import: its state, which is read again while it changes, and the options that a person changes.

import { computed, signal } from "@preact/signals";
import { ApiError, callTagged, ConnectionError, randomKey, type Tagged } from "../../api/client.ts";
import type { ImportJob, ImportOptions } from "../../api/types.ts";

/** How often the import is read, in milliseconds. */
const FAST = 400;
const SLOW = 5_000;
const ENDED = 15_000;

export class ImportModel {
  readonly id: string;
  readonly job = signal<ImportJob | null>(null);
  /** Why the import could not be read, or a change not be made. */
  readonly error = signal<unknown>(null);
  /** The options that are chosen, if they are not stored yet. */
  readonly draft = signal<ImportOptions | null>(null);
  readonly options = computed<ImportOptions>(() => this.draft.value ?? inputOf(this.job.value));
  /** Whether the file is read again with changed options. */
  readonly isSaving = computed(() => this.draft.value !== null || this.job.value?.state === "INSPECTING");
  #etag = "";
  #saving: Promise<void> | null = null;
  #turn: Promise<void> = Promise.resolve();

  constructor(id: string) {
    this.id = id;
  }

  get path() {
    return { path: { id: this.id } };
  }

  /** The time until the import should be read again. */
  get interval(): number {
    const state = this.job.value?.state;
    if (state === "INSPECTING" || state === "RUNNING") return FAST;
    return state === "READY" || state === "UPLOADING" || state === undefined ? SLOW : ENDED;
  }

  /** Runs a request after the one before: the result of a read that began before a change can be that before it. */
  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(run);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  read(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  async #read(): Promise<void> {
    try {
      this.#take(await callTagged("GET /api/imports/{id}", this.path));
      if (this.error.value instanceof ConnectionError || isTemporary(this.error.value)) this.error.value = null;
    } catch (error) {
      this.error.value = error;
    }
  }

  #take({ body, etag }: Tagged<{ import: ImportJob }>): void {
    this.job.value = body.import;
    this.#etag = etag;
  }

  /** Chooses options, and stores them when earlier ones are stored. */
  choose(options: ImportOptions): Promise<void> {
    this.draft.value = options;
    this.error.value = null;
    this.#saving ??= this.#save().finally(() => (this.#saving = null));
    return this.#saving;
  }

  /** Stores options that could not be stored, such as because the session had ended. */
  async resume(): Promise<void> {
    await this.#saving;
    if (this.draft.value) await this.choose(this.draft.value);
  }

  async #save(): Promise<void> {
    try {
      while (this.draft.value) {
        await this.#untilRead();
        const body = { options: this.draft.value };
        const request = { ...this.path, body, etag: this.#etag };
        await this.#inTurn(async () => this.#take(await callTagged("PATCH /api/imports/{id}", request)));
        if (this.draft.value === body.options) this.draft.value = null;
      }
    } catch (error) {
      // What the server does not accept, or another tab changed, is not kept.
      if (error instanceof ApiError && !isTemporary(error)) this.draft.value = null;
      await this.read();
      this.error.value = error;
    }
  }

  /** Waits until the options are stored and the file is read with them. Returns whether it can be imported. */
  async settled(): Promise<boolean> {
    if (this.draft.value) await this.choose(this.draft.value);
    await this.#untilRead();
    const { value } = this.job;
    return !this.error.value && !this.draft.value && value?.state === "READY" && !value.problems.length;
  }

  async #untilRead(): Promise<void> {
    while (this.job.value?.state === "INSPECTING") {
      await new Promise((resolve) => setTimeout(resolve, FAST));
      await this.read();
      if (this.error.value) throw this.error.value;
    }
  }

  /** Starts the import, or a dry run. */
  async start(dryRun: boolean): Promise<void> {
    this.error.value = null;
    const request = { ...this.path, body: { dryRun }, etag: this.#etag, idempotencyKey: randomKey() };
    await this.#change(() => callTagged("POST /api/imports/{id}/start", request));
  }

  /** Cancels the import, or its dry run alone. */
  async cancel(): Promise<void> {
    await this.#change(() => callTagged("POST /api/imports/{id}/cancel", this.path));
  }

  async #change(run: () => Promise<Tagged<{ import: ImportJob }>>): Promise<void> {
    try {
      await this.#inTurn(async () => this.#take(await run()));
    } catch (error) {
      await this.read();
      this.error.value = error;
      throw error;
    }
  }
}

/** Returns the options of an import as a request has them. */
export function inputOf(job: ImportJob | null): ImportOptions {
  return job ? { ...job.options } : {};
}

function isTemporary(error: unknown): boolean {
  return error instanceof ApiError && ([401, 429].includes(error.status) || error.status >= 500);
}
