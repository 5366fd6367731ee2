import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call, randomKey } from "../../api/client.ts";
import type { ApiKey, CreateApiKeyRequest } from "../../api/types.ts";
import { now } from "../../clock.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { Choices, FormDialog, textOf } from "../../components/form_dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Menu } from "../../components/menu.tsx";
import { More, usePaged } from "../../components/paged.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { Select } from "../../components/select.tsx";
import { TextField } from "../../components/text_field.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { session } from "../../session.ts";
import { named, parts, plural, t } from "../../texts.ts";
import { ScopeChoices } from "./scopes.tsx";

const PAGE = 100;
const DAY = 86_400_000;
const SCOPES = ["read", "write", "admin", "signup"] as const;
// Numbers are in ascending order, and before other keys.
const GRACE = { 3600: "time.hour", 86400: "time.day", 604800: "time.week" } as const;
const LIFETIMES = { 30: "time.month", 90: "time.quarter", 365: "time.year", "": "key.never" } as const;
type Question = { type: "create" } | { type: "rotate" | "revoke"; key: ApiKey };

/** API keys: what each permits, who created it, and whether it is used. */
export function Keys() {
  const question = useSignal<Question | null>(null);
  const created = useSignal<{ secret: string; name: string } | null>(null);
  const keys = usePaged("GET /api/keys", { limit: PAGE }, (body) => body.apiKeys);
  const close = () => (question.value = null);
  const done = (secret?: string, name = "") => {
    keys.reload();
    if (secret) created.value = { secret, name };
  };
  const asked = question.value;
  return (
    <>
      <header class="page-head">
        <p>{t("apiKeys.text")}</p>
        <span class="space" />
        <button type="button" class="main" onClick={() => (question.value = { type: "create" })}>
          <Icon name="plus" />
          {t("key.create")}
        </button>
      </header>
      <Part of={keys}>
        {(items) =>
          items.length ? (
            <table class="table">
              <thead>
                <tr>
                  <th>{t("name")}</th>
                  <th class="wide">{t("scope.title")}</th>
                  <th class="wide">{t("createdBy")}</th>
                  <th>{t("lastUsed")}</th>
                  <th class="wide">{t("expires")}</th>
                  <th>
                    <span class="unseen">{t("actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((key) => (
                  <tr key={key.id}>
                    <td class="name">
                      <bdi dir="auto">{key.name}</bdi>
                      <small class="below phone">{named("scope", key.scope)}</small>
                      <OldSecret until={key.previousSecretExpiresAt} />
                    </td>
                    <td class="wide">
                      {named("scope", key.scope)}
                      <small class="below">{named("scopeMeaning", key.scope)}</small>
                    </td>
                    <td class="wide">
                      <ActorName actor={key.createdBy} />{" "}
                      <small>
                        <Time value={key.createdAt} as="date" />
                      </small>
                    </td>
                    <td>
                      <LastUse at={key.lastUsedAt} />
                    </td>
                    <td class="wide">
                      {key.expiresAt ? <Expiry at={key.expiresAt} /> : t("key.never")}
                    </td>
                    <td class="end">
                      <Menu
                        class="plain"
                        label={<Icon name="more" />}
                        title={t("actions.of", { name: key.name })}
                      >
                        <button
                          type="button"
                          onClick={() => (question.value = { type: "rotate", key })}
                        >
                          {t("rotate.title")}…
                        </button>
                        <button
                          type="button"
                          class="danger"
                          onClick={() => (question.value = { type: "revoke", key })}
                        >
                          {t("key.revoke")}…
                        </button>
                      </Menu>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          ) : (
            <p class="muted">{t("apiKeys.empty")}</p>
          )
        }
      </Part>
      <More paged={keys} />
      {asked?.type === "create" && <CreateDialog onClose={close} onDone={done} />}
      {asked?.type === "rotate" && <RotateDialog apiKey={asked.key} onClose={close} onDone={done} />}
      {asked?.type === "revoke" && <RevokeDialog apiKey={asked.key} onClose={close} onDone={done} />}
      {created.value && (
        <SecretDialog
          title={t("key.secret", { name: created.value.name })}
          label={t("key")}
          secret={created.value.secret}
          onClose={() => (created.value = null)}
        />
      )}
    </>
  );
}

function OldSecret({ until }: { until: string | undefined }) {
  if (!until || Date.parse(until) < now()) return null;
  return (
    <small class="below">
      {parts("key.oldSecret", { time: <Time value={until} as="ago" /> })}
    </small>
  );
}

function Expiry({ at }: { at: string }) {
  if (Date.parse(at) > now()) return <Time value={at} as="date" />;
  return <span class="error">{parts("key.expired", { time: <Time value={at} as="date" /> })}</span>;
}

/** The day of the last use: it is stored as the start of a day in UTC. */
function LastUse({ at }: { at: string | undefined }) {
  if (!at) return <>{t("key.unused")}</>;
  return isToday(at) ? <>{t("today")}</> : <Time value={at} as="date" />;
}

function isToday(at: string): boolean {
  return at.slice(0, 10) === new Date(now()).toISOString().slice(0, 10);
}

function CreateDialog({
  onClose,
  onDone,
}: {
  onClose: () => void;
  onDone: (secret: string, name: string) => void;
}) {
  const scope = useSignal<CreateApiKeyRequest["scope"]>("write");
  const days = useSignal("");
  return (
    <FormDialog
      title={t("key.create")}
      verb={t("key.create")}
      onClose={onClose}
      onSubmit={async (form) => {
        const expiresAt = days.value && new Date(now() + Number(days.value) * DAY).toISOString();
        const { apiKey, secret } = await call("POST /api/keys", {
          body: { name: textOf(form, "name"), scope: scope.value, ...(expiresAt ? { expiresAt } : {}) },
          idempotencyKey: randomKey(),
        });
        onDone(secret, apiKey.name);
      }}
    >
      <TextField label={t("key.name")} name="name" max={100} />
      <ScopeChoices scopes={SCOPES} value={scope.value} onChoose={(chosen) => (scope.value = chosen)} />
      <Select
        label={t("expires")}
        value={days.value}
        choices={Object.entries(LIFETIMES).map(([value, text]) => [value, t(text)])}
        onChoose={(chosen) => (days.value = chosen)}
      />
    </FormDialog>
  );
}

function RotateDialog({
  apiKey,
  onClose,
  onDone,
}: {
  apiKey: ApiKey;
  onClose: () => void;
  onDone: (secret: string, name: string) => void;
}) {
  const grace = useSignal("86400");
  const choices = Object.entries(GRACE).map(([value, text]) => ({
    value,
    text: t("key.grace", { time: t(text) }),
  }));
  return (
    <FormDialog
      title={t("rotate.title")}
      verb={t("rotate.verb")}
      keep={t("rotate.keep")}
      danger={grace.value === "0"}
      onClose={onClose}
      onSubmit={async () => {
        const { secret } = await call("POST /api/keys/{id}/rotate", {
          path: { id: apiKey.id },
          body: { graceSeconds: Number(grace.value) },
          idempotencyKey: randomKey(),
        });
        onDone(secret, apiKey.name);
      }}
    >
      <p>{parts("key.rotate.text", { name: <bdi dir="auto">{apiKey.name}</bdi> })}</p>
      <Choices
        legend={t("key.grace.title")}
        value={grace.value}
        choices={[
          ...choices,
          { value: "0", text: t("key.grace.none"), hint: t("key.grace.none.hint") },
        ]}
        onChoose={(value) => (grace.value = value)}
      />
    </FormDialog>
  );
}

function RevokeDialog({
  apiKey,
  onClose,
  onDone,
}: {
  apiKey: ApiKey;
  onClose: () => void;
  onDone: () => void;
}) {
  // Sessions that began with the key end with it.
  const sessions = useLoaded(async (signal) => {
    const found = await call("GET /api/sessions", { query: { limit: PAGE }, signal });
    return found.sessions.filter((each) => each.apiKeyId === apiKey.id).length;
  });
  const name = <bdi dir="auto">{apiKey.name}</bdi>;
  const at = apiKey.lastUsedAt;
  return (
    <FormDialog
      title={t("key.revoke.title")}
      verb={t("key.revoke")}
      keep={t("key.keep")}
      danger
      onClose={onClose}
      onSubmit={async () => {
        await call("DELETE /api/keys/{id}", { path: { id: apiKey.id } });
        onDone();
        notify(`${apiKey.name}: ${named("verb", "revoked")}`);
      }}
    >
      <p>
        {!at
          ? parts("key.wasUnused", { name })
          : isToday(at)
            ? parts("key.wasUsedToday", { name })
            : parts("key.wasUsed", { name, day: <Time value={at} as="date" /> })}{" "}
        {t("key.revoke.text")} {session.value?.session?.apiKeyId === apiKey.id && <strong>{t("key.sessions.own")}</strong>}
      </p>
      {Boolean(sessions.data) && <p>{plural("key.sessions", sessions.data ?? 0)}</p>}
    </FormDialog>
  );
}
