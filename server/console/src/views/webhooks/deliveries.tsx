import { useLayoutEffect, useRef } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Operations, Webhook, WebhookDelivery } from "../../api/types.ts";
import { Part } from "../../components/part.tsx";
import { More, usePaged } from "../../components/paged.tsx";
import { Time } from "../../components/time.tsx";
import { PAUSE } from "../../debounced.ts";
import { useLoaded } from "../../load.ts";
import { address, go, href, withQuery } from "../../router.ts";
import { named, number, t } from "../../texts.ts";
import { DeliveryLabel, deliveryPath } from "./delivery_label.tsx";
import { EVENT_TYPES, RESOURCES } from "./endpoint_dialogs.tsx";

type State = WebhookDelivery["state"];
type Query = Operations["GET /api/webhook-deliveries"]["query"];
const STATES: (State | "")[] = ["", "FAILED", "PENDING", "SUCCEEDED"];
const TYPES = [...EVENT_TYPES, ...RESOURCES.map((each) => `${each}.*`)];
/** An address or an identifier, unlike the beginning of one. */
const PERSON = String.raw`\s*(\S+@\S+\.\S\S+|\w{26})\s*`;
const PAGE = 50;
const REFRESH = 10;
const RECOUNT = 60;
const COUNTED = 10_000;

interface DeliveriesProps {
  webhooks: Webhook[];
  /** How many deliveries wait; at most 10,000 of an endpoint are counted. */
  waiting: number;
  webhookId?: string;
}

/** Deliveries to all endpoints or to one, with filters that are in the address. */
export function Deliveries({ webhooks, waiting, webhookId = "" }: DeliveriesProps) {
  const { query } = address.value;
  const value = (name: string) => query.get(name) ?? "";
  const state = value("state").toUpperCase();
  const urls = new Map(webhooks.map((webhook) => [webhook.id, webhook.url]));
  const request: Query = {
    limit: PAGE,
    webhookId,
    ...(state ? { state: state as State } : {}),
    eventType: value("type"),
    eventId: value("event"),
    subscriberId: value("person"),
    ...(value("status") ? { httpStatus: Number(value("status")) } : {}),
  };
  const paged = usePaged("GET /api/webhook-deliveries", request, (body) => body.deliveries, () => REFRESH);
  const isNarrowed = ["type", "event", "person", "status"].some((name) => query.has(name));
  const failed = useLoaded(
    async (signal) => {
      const failures: Query = { limit: PAGE, webhookId, state: "FAILED" };
      return isNarrowed ? undefined : call("GET /api/webhook-deliveries", { query: failures, signal });
    },
    webhookId + isNarrowed,
    () => (isNarrowed ? 0 : RECOUNT),
  ).data;
  const counts: Partial<Record<State | "", string>> = {
    PENDING: waiting < COUNTED ? number(waiting) : `${number(COUNTED)}+`,
    FAILED: failed && (failed.total !== undefined ? number(failed.total) : `${number(PAGE)}+`),
  };
  const isFiltered = isNarrowed || query.has("state");
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">{t("deliveries")}</h2>
      <nav class="choices-row" aria-label={t("delivery.state")}>
        {STATES.map((each) => (
          <a
            key={each}
            href={href(withQuery({ state: each.toLowerCase() }))}
            aria-current={each === state ? "page" : undefined}
          >
            {each ? named("deliveryTab", each) : t("all")}
            {!isNarrowed && (counts[each] ?? "0") !== "0" && <small> {counts[each]}</small>}
          </a>
        ))}
      </nav>
      <div class="filters">
        <Filter name="type" label={t("event.type")} options={TYPES} />
        <Filter name="event" label={t("event.id")} placeholder="evt_…" />
        <Filter name="person" label={t("person")} placeholder="ada@example.com" pattern={PERSON} />
        <Filter name="status" label={t("http.status")} placeholder="503" pattern="[1-5][0-9][0-9]" />
      </div>
      <Part of={paged} bars={6}>
        {(deliveries) => {
          if (!deliveries.length && !paged.more) {
            return (
              <p class="muted">
                {t(
                  state === "FAILED" && !isNarrowed
                    ? "deliveries.noneFailed"
                    : isFiltered
                      ? "deliveries.none"
                      : "deliveries.empty",
                )}{" "}
                {isFiltered && <a href={href(address.value.path)}>{t("filters.clear")}</a>}
              </p>
            );
          }
          return (
            <table class="table" aria-busy={paged.isBusy}>
              <thead>
                <tr>
                  <th>{t("state")}</th>
                  <th>{t("event")}</th>
                  {!webhookId && <th class="wide">{t("endpoint")}</th>}
                  <th class="wide number">{t("attempts")}</th>
                  <th class="wide">{t("attempt.next")}</th>
                  <th>{t("created")}</th>
                </tr>
              </thead>
              <tbody>
                {deliveries.map((delivery) => (
                  <tr key={delivery.id}>
                    <td>
                      <DeliveryLabel delivery={delivery} />
                    </td>
                    <td>
                      <DeliveryLink delivery={delivery} />
                    </td>
                    {!webhookId && (
                      <td class="wide clip">
                        <bdi dir="auto">{urls.get(delivery.webhookId)}</bdi>
                      </td>
                    )}
                    <td class="wide number">{number(delivery.attemptCount)}</td>
                    <td class="wide">
                      {delivery.nextAttemptAt && <Time value={delivery.nextAttemptAt} as="ago" />}
                    </td>
                    <td>
                      <Time value={delivery.createdAt} as="ago" />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          );
        }}
      </Part>
      <More paged={paged} />
    </section>
  );
}

/** The link of the row of a delivery: the type of its event, which wraps after the point. */
export function DeliveryLink({ delivery }: { delivery: Pick<WebhookDelivery, "webhookId" | "id" | "eventType"> }) {
  const [resource, what] = delivery.eventType.split(".");
  return (
    <a
      class="row-link event"
      href={href(deliveryPath(delivery))}
      aria-label={`${delivery.eventType} …${delivery.id.slice(-6)}`}
    >
      {resource}.<wbr />
      {what}
    </a>
  );
}

/** A filter, which applies while it is typed. One with options waits for one of them, or for Enter. */
function Filter({
  name,
  label,
  placeholder = "",
  pattern,
  options,
}: {
  name: string;
  label: string;
  placeholder?: string;
  pattern?: string;
  options?: string[];
}) {
  const list = options && `options-${name}`;
  const value = address.value.query.get(name) ?? "";
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(value);
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  useLayoutEffect(() => {
    // Typing goes on while the filter applies that its beginning was.
    if (value !== sent.current && field.current) field.current.value = value;
    sent.current = value;
  }, [value]);
  // A filter that waits must not change the address of another view.
  useLayoutEffect(() => () => clearTimeout(typing.current), []);

  function apply(input: HTMLInputElement): void {
    clearTimeout(typing.current);
    sent.current = input.value.trim();
    go(withQuery({ [name]: sent.current }), { replace: value !== "" });
  }

  return (
    <label class="field">
      {label}
      <input
        ref={field}
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        pattern={pattern}
        list={list}
        defaultValue={value}
        onInput={({ currentTarget: input }) => {
          clearTimeout(typing.current);
          const isWhole = !input.value || (options?.includes(input.value) ?? input.validity.valid);
          if (isWhole) typing.current = setTimeout(() => apply(input), PAUSE);
        }}
        onChange={({ currentTarget: input }) => input.reportValidity() && apply(input)}
        onKeyDown={({ key, currentTarget: input }) => key === "Enter" && input.reportValidity() && apply(input)}
      />
      {options && (
        <datalist id={list}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
}
