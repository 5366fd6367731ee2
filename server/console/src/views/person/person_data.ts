// Reads and changes one person, and keeps what the server returned last.

import { signal } from "@preact/signals";
import { ApiError, call, callTagged } from "../../api/client.ts";
import type {
  GetSubscriberMailabilityResponse,
  GetSubscriberPersonalDataResponse,
  Operations,
  Segment,
  Subscriber,
  SubscriberHistoryEntry,
} from "../../api/types.ts";

export type Changes = Operations["PATCH /api/subscribers/{id}"]["body"];

/** Another change of the same field was stored meanwhile. */
export class Conflict extends Error {
  /** The value that is stored now. */
  readonly theirs: unknown;

  constructor(theirs: unknown) {
    super();
    this.theirs = theirs;
  }
}

export class PersonData {
  readonly id: string;
  readonly subscriber = signal<Subscriber | null>(null);
  readonly mailability = signal<GetSubscriberMailabilityResponse | null>(null);
  readonly history = signal<SubscriberHistoryEntry[]>([]);
  readonly moreHistory = signal("");
  readonly segments = signal<Segment[]>([]);
  /** Imports by their operations, with the names of their files while they are kept. The ID can be empty. */
  readonly imports = signal<ReadonlyMap<string, { id: string; name?: string }>>(new Map());
  readonly error = signal<unknown>(null);
  readonly #onChange: (subscriber: Subscriber) => void;
  #etag = "";
  /** How often the person was read, and which of these times is shown: answers can arrive in another order. */
  #reads = 0;
  #shown = 0;

  constructor(id: string, known: Subscriber | undefined, onChange: (subscriber: Subscriber) => void) {
    this.id = id;
    this.subscriber.value = known ?? null;
    this.#onChange = onChange;
  }

  get #path() {
    return { path: { id: this.subscriber.value?.id ?? this.id } };
  }

  /** Reads everything, and returns whether that worked. An address without a subscriber has a mailability only. */
  async load(signal?: AbortSignal): Promise<boolean> {
    const read = ++this.#reads;
    try {
      const [mailability] = await Promise.all([
        call("GET /api/subscribers/{id}/mailability", { ...this.#path, signal }),
        this.#loadSubscriber(read, signal),
      ]);
      if (read < this.#shown) return true;
      this.mailability.value = mailability;
      this.error.value = null;
      void this.loadImports(signal);
      return true;
    } catch (error) {
      if (!signal?.aborted && read >= this.#shown) this.error.value = error;
      return false;
    }
  }

  async #loadSubscriber(read: number, signal?: AbortSignal): Promise<void> {
    let found;
    try {
      found = await callTagged("GET /api/subscribers/{id}", { ...this.#path, query: { view: "FULL" }, signal });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "SubscriberNotFound" && this.id.includes("@"))) throw error;
    }
    if (read < this.#shown) return;
    this.#shown = read;
    this.subscriber.value = found?.body.subscriber ?? null;
    this.#etag = found?.etag ?? "";
    if (!found) return;
    const [history, segments] = await Promise.all([
      callTagged("GET /api/subscribers/{id}/history", { ...this.#path, signal }),
      call("GET /api/subscribers/{id}/segments", { ...this.#path, query: { limit: 100 }, signal }),
    ]);
    if (read < this.#shown) return;
    this.history.value = history.body.history;
    this.moreHistory.value = history.nextPage;
    this.segments.value = segments.segments;
  }

  async loadMoreHistory(signal?: AbortSignal): Promise<void> {
    const query = { pageToken: this.moreHistory.value };
    const shown = this.#shown;
    const page = await callTagged("GET /api/subscribers/{id}/history", { ...this.#path, query, signal });
    // A change was added to the first page.
    if (shown !== this.#shown) return;
    this.history.value = [...this.history.value, ...page.body.history];
    this.moreHistory.value = page.nextPage;
    await this.loadImports(signal);
  }

  /** Reads the imports that changed the person and are not known yet. */
  async loadImports(signal?: AbortSignal): Promise<void> {
    const changes = [...this.history.value, ...(this.mailability.value ? [this.mailability.value] : [])];
    const ids = changes.map(({ source, operationId }) => (source === "IMPORT" ? operationId : undefined));
    for (const id of new Set(ids)) {
      if (!id || this.imports.value.has(id)) continue;
      try {
        const { importId = "" } = (await call("GET /api/operations/{id}", { path: { id }, signal })).operation;
        this.#addImport(id, { id: importId });
        const { name } = (await call("GET /api/imports/{id}", { path: { id: importId }, signal })).import;
        this.#addImport(id, { id: importId, name });
      } catch (error) {
        // Operations and imports are deleted after a while.
        if (!(error instanceof ApiError && error.status === 404)) return;
        if (!this.imports.value.has(id)) this.#addImport(id, { id: "" });
      }
    }
  }

  #addImport(operationId: string, found: { id: string; name?: string }): void {
    this.imports.value = new Map([...this.imports.value, [operationId, found]]);
  }

  /**
   * Changes one field, and returns whether the stored value could be read.
   *
   * Raises Conflict if it is not `before` anymore, or ApiError.
   */
  async change(changes: Changes, read: (subscriber: Subscriber) => unknown, before: unknown): Promise<boolean> {
    const send = () => call("PATCH /api/subscribers/{id}", { ...this.#path, body: changes, etag: this.#etag });
    return await this.#send(send, read, before);
  }

  async #send(send: () => Promise<unknown>, read: (subscriber: Subscriber) => unknown, before: unknown): Promise<boolean> {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "PreconditionFailed")) throw error;
      await this.load();
      const theirs = this.subscriber.value ? read(this.subscriber.value) : undefined;
      if (this.subscriber.value) this.#onChange(this.subscriber.value);
      if (theirs !== before) throw new Conflict(theirs);
      // Another field changed: this change does not affect it.
      await send();
    }
    return await this.#changed();
  }

  async addTag(tag: string): Promise<void> {
    await call("POST /api/subscribers/{id}/tags", { ...this.#path, body: { tags: [tag] } });
    await this.#changed();
  }

  async removeTag(tag: string): Promise<void> {
    await call("POST /api/subscribers/{id}/tags/remove", { ...this.#path, body: { tags: [tag] } });
    await this.#changed();
  }

  /** Changes the status. Raises Conflict if it changed meanwhile, or ApiError. */
  async changeStatus(status: Subscriber["status"], consentSource: string): Promise<void> {
    const body = { status, ...(consentSource ? { consentSource } : {}) };
    const send = () => call("PUT /api/subscribers/{id}/status", { ...this.#path, body, etag: this.#etag });
    await this.#send(send, (subscriber) => subscriber.status, this.subscriber.value?.status);
  }

  async link(purpose: "CONFIRM" | "UNSUBSCRIBE"): Promise<string> {
    const body = { purposes: [purpose] };
    const { links } = await call("POST /api/subscribers/{id}/links", { ...this.#path, body });
    return links[0]?.url ?? "";
  }

  async erasurePreview() {
    return await call("GET /api/subscribers/{id}/erasure-preview", this.#path);
  }

  /** Deletes the person, and returns the identifier of the request. */
  async delete(erase: boolean): Promise<string> {
    const query = erase ? { erase } : {};
    return (await callTagged("DELETE /api/subscribers/{id}", { ...this.#path, query })).requestId;
  }

  /** Returns all stored data about the person, with all pages of events. */
  async personalData(signal?: AbortSignal): Promise<GetSubscriberPersonalDataResponse[]> {
    const pages = [];
    let pageToken = "";
    do {
      const page = await callTagged("GET /api/subscribers/{id}/personal-data", { ...this.#path, query: { pageToken }, signal });
      pages.push(page.body);
      pageToken = page.nextPage;
    } while (pageToken);
    return pages;
  }

  async #changed(): Promise<boolean> {
    const isRead = await this.load();
    if (this.subscriber.value) this.#onChange(this.subscriber.value);
    return isRead;
  }
}
