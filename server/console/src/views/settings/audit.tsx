import { call, url } from "../../api/client.ts";
import type { AuditEntry, Operations } from "../../api/types.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { Part } from "../../components/part.tsx";
import { More, usePaged } from "../../components/paged.tsx";
import { Select } from "../../components/select.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { address, go, href, withQuery } from "../../router.ts";
import { type Key, named, t } from "../../texts.ts";

type Query = Operations["GET /api/audit"]["query"];
const PAGE = 50;
const NAMES = 100;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
// The actions by the type of their resource, as the guide to the audit log lists them.
const ACTIONS: Record<string, string> = {
  account: "created updated verified",
  api_key: "created rotated revoked",
  audit_entry: "exported",
  custom_field: "created updated deleted",
  export: "created canceled downloaded deleted",
  import: "created updated started canceled undone deleted",
  operation: "created canceled undone",
  segment: "created updated deleted",
  session: "created deleted all_deleted",
  sign_in_link: "created deleted",
  subscriber: "imported exported erased",
  suppression: "added imported exported deleted",
  tag: "created updated deleted",
  webhook: "created updated deleted secret_rotated tested replayed",
  webhook_delivery: "retried",
};
const VIEWS: Record<string, string> = {
  export: "/activity",
  import: "/import",
  operation: "/activity",
  segment: "/segments",
  subscriber: "/subscribers",
  webhook: "/webhooks",
};

/** Who changed settings and exported data, with filters that are in the address. */
export function AuditLog() {
  const { query } = address.value;
  const value = (name: string) => query.get(name) ?? "";
  const filters: Query = {
    resourceType: value("type"),
    action: value("action"),
    actor: value("actor"),
    resourceId: value("resource"),
    createdAfter: dayStart(value("from"), 0),
    createdBefore: dayStart(value("to"), 1),
  };
  const paged = usePaged("GET /api/audit", { ...filters, limit: PAGE }, (body) => body.entries);
  const isFiltered = ["type", "action", "actor", "resource", "from", "to"].some((name) => query.has(name));
  return (
    <>
      <div class="filters">
        <label class="field">
          {t("audit.action")}
          <select
            value={value("action") || value("type")}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              const isAction = chosen.includes(".");
              go(withQuery({ action: isAction ? chosen : "", type: isAction ? "" : chosen }));
            }}
          >
            <option value="">{t("all")}</option>
            {Object.entries(ACTIONS).map(([type, verbs]) => (
              <optgroup key={type} label={named("resource", type)}>
                <option value={type}>{`${named("resource", type)}: ${t("all")}`}</option>
                {verbs.split(" ").map((verb) => (
                  <option key={verb} value={`${type}.${verb}`}>
                    {actionText(`${type}.${verb}`)}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
        <Actors value={value("actor")} entries={paged.data ?? []} />
        {(["from", "to"] as const).map((name) => (
          <label key={name} class="field">
            {t(name)}
            <input
              type="date"
              value={value(name)}
              onChange={(event) => go(withQuery({ [name]: event.currentTarget.value }))}
            />
          </label>
        ))}
        <div class="field end">
          <a class="button" href={url("/api/audit/export", {}, filters)} download="audit.ndjson">
            {t("audit.export")}
          </a>
        </div>
      </div>
      {isFiltered && (
        <p>
          {value("resource") && (
            <>
              {t("audit.resource")} <code>{value("resource")}</code> ·{" "}
            </>
          )}
          <a href={href(address.value.path)}>{t("filters.clear")}</a>
        </p>
      )}
      <Part of={paged} bars={6}>
        {(entries) =>
          entries.length ? (
            <table class="table audit" aria-busy={paged.isBusy}>
              <thead>
                <tr>
                  <th>{t("time")}</th>
                  <th>{t("who")}</th>
                  <th>{t("what")}</th>
                  <th class="wide">{t("audit.ip")}</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => (
                  <tr key={entry.id}>
                    <td>
                      <Time value={entry.createdAt} />
                    </td>
                    <td class="name">
                      <a href={href(withQuery({ actor: entry.actor.id ?? entry.actor.type }))}>
                        <ActorName actor={entry.actor} />
                      </a>
                    </td>
                    <td>
                      <span title={entry.action}>{actionText(entry.action)}</span>
                      <Resource entry={entry} />
                      <Changes entry={entry} />
                    </td>
                    <td class="wide">{entry.ip}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          ) : (
            <p class="muted">{t("audit.none")}</p>
          )
        }
      </Part>
      <More paged={paged} />
    </>
  );
}

/** Returns an action in words, such as "API key: created". */
function actionText(action: string): string {
  const [type = "", verb = ""] = action.split(".");
  return `${named("resource", type)}: ${named("verb", verb)}`;
}

/** Returns the start of a local day, or of one after it. */
function dayStart(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return day && new Date(year, month - 1, date + later).toISOString();
}

/** The choice of who acted: keys and sessions that exist, and those of the shown entries. */
function Actors({ value, entries }: { value: string; entries: AuditEntry[] }) {
  const loaded = useLoaded(async (signal) => {
    const query = { limit: NAMES };
    const [{ apiKeys }, { sessions }] = await Promise.all([
      call("GET /api/keys", { query, signal }),
      call("GET /api/sessions", { query, signal }),
    ]);
    return [
      ...apiKeys.map(({ id, name }) => [id, t("actor.API_KEY", { name })] as const),
      ...sessions.map(({ id, name }) => [id, name] as const),
    ];
  });
  const names = new Map<string, string>([["COMMAND_LINE", t("actor.COMMAND_LINE", { name: "roster" })]]);
  if (value && !names.has(value)) names.set(value, value);
  for (const { actor } of entries) if (actor.id) names.set(actor.id, actor.name ?? actor.id);
  for (const [id, name] of loaded.data ?? []) names.set(id, name);
  return (
    <Select
      label={t("who")}
      value={value}
      choices={[["", t("all")], ...names]}
      onChoose={(actor) => go(withQuery({ actor }))}
    />
  );
}

/** The resource of an entry: a link to its view, or to all entries about it. */
function Resource({ entry }: { entry: AuditEntry }) {
  const { resourceId: id, resourceType: type } = entry;
  if (!id) return null;
  const view = VIEWS[type];
  return (
    <>
      {" "}
      <a href={href(withQuery({ resource: id }))} title={id} class="mono">
        …{id.slice(-6)}
      </a>
      {view && (
        <>
          {" "}
          <a href={href(`${view}/${id}`)} aria-label={`${t("show")} …${id.slice(-6)}`}>
            {t("show")}
          </a>
        </>
      )}
    </>
  );
}

/** The texts for values that people know; others are shown by their names in the API. */
const TEXTS: Record<string, Key> = {
  name: "column.name",
  label: "column.name",
  email: "column.email",
  filter: "filter.short",
  scope: "scope.title",
  expiresAt: "expires",
  reason: "suppressions.reason",
  dataType: "field.type",
  fallback: "field.fallback",
  displayName: "account.name",
  color: "account.color",
  url: "endpoint",
  eventTypes: "events",
  signInLinkId: "resource.sign_in_link",
  createdAt: "column.created",
};

/** The groups of texts for the values of enums. */
const GROUPS: Record<string, string> = { scope: "scope", dataType: "dataType", reason: "status" };

function Changes({ entry }: { entry: AuditEntry }) {
  const { before = {}, after = {} } = entry;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <>
      {names.map((name) => (
        <small key={name} class="below">
          {TEXTS[name] ? <span title={name}>{t(TEXTS[name])}:</span> : <code>{name}</code>}{" "}
          {name in before && <Value name={name} value={before[name]} />}
          {name in before && name in after && " → "}
          {name in after && <Value name={name} value={after[name]} />}
        </small>
      ))}
    </>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  if (GROUPS[name]) return <>{named(GROUPS[name], String(value))}</>;
  if (typeof value === "boolean") return <>{t(value ? "yes" : "no")}</>;
  if (typeof value === "string" && TIME.test(value)) return <Time value={value} />;
  return <bdi dir="auto">{typeof value === "string" && value ? value : JSON.stringify(value)}</bdi>;
}
