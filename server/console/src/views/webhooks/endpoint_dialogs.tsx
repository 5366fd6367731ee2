import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call, randomKey } from "../../api/client.ts";
import type { EventPayload, Webhook } from "../../api/types.ts";
import { now } from "../../clock.ts";
import { Choices, FormDialog } from "../../components/form_dialog.tsx";
import { go } from "../../router.ts";
import { number, parts, t } from "../../texts.ts";

// Every type of the API is here, as the compiler checks.
const TYPES: Record<Exclude<EventPayload["type"], "webhook.test">, true> = {
  "subscriber.created": true,
  "subscriber.updated": true,
  "subscriber.deleted": true,
  "subscriber.signup_repeated": true,
  "subscriber.confirmed": true,
  "subscriber.unsubscribed": true,
  "subscriber.bounced": true,
  "subscriber.complained": true,
  "tag.created": true,
  "tag.updated": true,
  "tag.deleted": true,
  "custom_field.created": true,
  "custom_field.updated": true,
  "custom_field.deleted": true,
  "operation.completed": true,
  "webhook.disabled": true,
};
export const EVENT_TYPES = Object.keys(TYPES);
export const RESOURCES = [...new Set(EVENT_TYPES.map((type) => type.split(".")[0] ?? ""))];

/** Creates an endpoint, or changes one. */
export function EndpointDialog({
  webhook,
  etag,
  onClose,
  onDone,
}: {
  webhook?: Webhook;
  etag?: string;
  onClose: () => void;
  onDone: (secret?: string, webhook?: Webhook) => void;
}) {
  const url = useSignal(webhook?.url ?? "");
  const description = useSignal(webhook?.description ?? "");
  const types = useSignal(webhook?.eventTypes ?? []);
  const isAll = useSignal(!webhook?.eventTypes.length);

  async function save(): Promise<void> {
    const eventTypes = isAll.value ? [] : types.value;
    const body = { url: url.value, description: description.value, eventTypes };
    if (webhook) {
      await call("PATCH /api/webhooks/{id}", {
        path: { id: webhook.id },
        body,
        ...(etag ? { etag } : {}),
      });
      onDone();
      notify(t("saved"));
    } else {
      const created = await call("POST /api/webhooks", { body, idempotencyKey: randomKey() });
      onDone(created.secret, created.webhook);
    }
  }

  return (
    <FormDialog
      title={t(webhook ? "webhook.edit" : "webhook.add")}
      verb={t(webhook ? "save" : "webhook.add")}
      disabled={!isAll.value && !types.value.length}
      onClose={onClose}
      onSubmit={save}
    >
      <label class="field">
        URL
        <input
          type="url"
          required
          maxLength={2048}
          placeholder="https://"
          value={url.value}
          onInput={(event) => (url.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        {t("description")}
        <input
          maxLength={500}
          value={description.value}
          onInput={(event) => (description.value = event.currentTarget.value)}
        />
      </label>
      <Choices
        legend={t("events")}
        value={isAll.value ? "all" : "some"}
        choices={[
          { value: "all", text: t("events.all"), hint: t("events.all.hint") },
          { value: "some", text: t("events.some") },
        ]}
        onChoose={(value) => (isAll.value = value === "all")}
      />
      {!isAll.value && <EventTypes types={types.value} onChange={(chosen) => (types.value = chosen)} />}
    </FormDialog>
  );
}

/** Checkboxes for the types of events, by resource. */
function EventTypes({ types, onChange }: { types: string[]; onChange: (types: string[]) => void }) {
  const box = (type: string, disabled = false) => (
    <label key={type}>
      <input
        type="checkbox"
        disabled={disabled}
        checked={disabled || types.includes(type)}
        onChange={(event) => {
          const others = types.filter((other) => other !== type);
          onChange(event.currentTarget.checked ? [...others, type] : others);
        }}
      />
      <code>{type}</code>
    </label>
  );
  return (
    <div class="event-types">
      {RESOURCES.map((resource) => {
        const own = EVENT_TYPES.filter((type) => type.startsWith(`${resource}.`));
        const all = `${resource}.*`;
        return (
          <div key={resource}>
            {(own.length > 1 || types.includes(all)) && box(all)}
            {own.map((type) => box(type, types.includes(all)))}
          </div>
        );
      })}
    </div>
  );
}

/** Deletes an endpoint. */
export function DeleteDialog({ webhook, waiting, onClose }: { webhook: Webhook; waiting: number; onClose: () => void }) {
  return (
    <FormDialog
      title={t("webhook.delete.title")}
      verb={t("webhook.delete")}
      keep={t("webhook.keep")}
      danger
      onClose={onClose}
      onSubmit={async () => {
        await call("DELETE /api/webhooks/{id}", { path: { id: webhook.id } });
        go("/webhooks");
        notify(t("webhook.deleted"));
      }}
    >
      <p>
        {parts("webhook.delete.text", {
          url: <bdi dir="auto">{webhook.url}</bdi>,
          count: <b>{number(waiting)}</b>,
        })}
      </p>
    </FormDialog>
  );
}

/** Replaces the secret of an endpoint. */
export function RotateDialog({
  webhook,
  onClose,
  onDone,
}: {
  webhook: Webhook;
  onClose: () => void;
  onDone: (secret: string) => void;
}) {
  return (
    <FormDialog
      title={t("rotate.title")}
      verb={t("rotate.verb")}
      keep={t("rotate.keep")}
      onClose={onClose}
      onSubmit={async () => {
        const path = { id: webhook.id };
        const idempotencyKey = randomKey();
        const { secret } = await call("POST /api/webhooks/{id}/rotate-secret", { path, idempotencyKey });
        onDone(secret);
      }}
    >
      <p>{t("webhook.rotate.text")}</p>
    </FormDialog>
  );
}

/** Delivers the events of a time range again. */
export function ReplayDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const since = useSignal(localTime(now() - 86_400_000));
  const until = useSignal("");
  const onlyFailed = useSignal(true);
  const type = useSignal("");

  async function replay(): Promise<void> {
    const { operation } = await call("POST /api/webhooks/{id}/replay", {
      path: { id: webhook.id },
      body: {
        since: new Date(since.value).toISOString(),
        ...(until.value ? { until: new Date(until.value).toISOString() } : {}),
        ...(type.value ? { eventTypes: [type.value] } : {}),
        onlyFailed: onlyFailed.value,
      },
      idempotencyKey: randomKey(),
    });
    notify(t("replay.started", { count: number(operation.total) }), {
      text: t("show"),
      run: () => go(`/activity/${operation.id}`),
    });
  }

  return (
    <FormDialog title={t("replay.title")} verb={t("replay.verb")} onClose={onClose} onSubmit={replay}>
      <p>{t("replay.text")}</p>
      <div class="pair">
        <label class="field">
          {t("from")}
          <input
            type="datetime-local"
            required
            value={since.value}
            onInput={(event) => (since.value = event.currentTarget.value)}
          />
        </label>
        <label class="field">
          {t("replay.until")}
          <input
            type="datetime-local"
            min={since.value}
            value={until.value}
            onInput={(event) => (until.value = event.currentTarget.value)}
          />
        </label>
      </div>
      <label class="field">
        {t("events")}
        <select value={type.value} onChange={(event) => (type.value = event.currentTarget.value)}>
          <option value="">{t("replay.subscribed")}</option>
          {RESOURCES.map((resource) => (
            <option key={resource}>{`${resource}.*`}</option>
          ))}
          {EVENT_TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label class="check-line">
        <input
          type="checkbox"
          checked={onlyFailed.value}
          onChange={(event) => (onlyFailed.value = event.currentTarget.checked)}
        />
        {t("replay.failed")}
      </label>
    </FormDialog>
  );
}

/** Returns a time as <input type="datetime-local"> has it. */
function localTime(milliseconds: number): string {
  const time = new Date(milliseconds);
  return new Date(milliseconds - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
