import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Subscriber } from "../api/types.ts";
import { Fact } from "../components/fact.tsx";
import { Part } from "../components/part.tsx";
import { StatusLabel } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import { type Loaded, useLoaded } from "../load.ts";
import { href, lastShown } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { session } from "../session.ts";
import { t } from "../texts.ts";
import { saveJson } from "./person/copy.ts";
import { PersonData } from "./person/person_data.ts";
import { Sentence } from "./person/sentence.tsx";
import { shown, Timeline } from "./person/timeline.tsx";
import { DeliveryLabel } from "./webhooks/delivery_label.tsx";

/** What proves the consent of a person or its end, as a page to print. */
export function ConsentRecord({ id = "" }: Parameters) {
  const data = useMemo(() => new PersonData(id, undefined, () => {}), [id]);
  const loaded = useLoaded(async (signal) => {
    await loadAll(data, signal);
    while (data.moreHistory.value) await data.loadMoreHistory(signal);
    // Other fields and tags are no part of the record.
    data.history.value = data.history.value.filter(
      ({ type, after }) => type !== "TAGS_CHANGED" && (type !== "FIELDS_CHANGED" || after?.email !== undefined),
    );
    return {};
  }, id);
  return (
    <Page id={id} data={data} loaded={loaded} title={t("consent.title")}>
      {() => data.subscriber.value && <Timeline data={data} fields={[]} />}
    </Page>
  );
}

/** All that is stored about a person, as a page to print. */
export function PersonalData({ id = "" }: Parameters) {
  const data = useMemo(() => new PersonData(id, undefined, () => {}), [id]);
  const loaded = useLoaded(async (signal) => {
    const query = { limit: 100 };
    const [pages, { customFields }, { webhooks }] = await Promise.all([
      data.personalData(signal),
      call("GET /api/custom-fields", { query, signal }),
      call("GET /api/webhooks", { query, signal }),
      loadAll(data, signal),
    ]);
    data.history.value = pages.flatMap((page) => page.history);
    data.moreHistory.value = "";
    await data.loadImports(signal);
    return { pages, customFields, urls: new Map(webhooks.map((webhook) => [webhook.id, webhook.url])) };
  }, id);
  const pages = loaded.data?.pages ?? [];
  return (
    <Page
      id={id}
      data={data}
      loaded={loaded}
      title={t("person.data")}
      facts={({ customFields }, subscriber) => (
        <>
          <Fact title={t("column.tags")}>
            <Names of={subscriber.tags} />
          </Fact>
          <Fact title={t("person.segments")}>
            <Names of={data.segments.value.map(({ name }) => name)} />
          </Fact>
          {customFields.map(({ key, label }) => {
            const value = subscriber.customFields?.[key];
            return (
              value !== undefined && (
                <Fact key={key} title={<bdi>{label}</bdi>}>
                  <bdi dir="auto">{shown(value)}</bdi>
                </Fact>
              )
            );
          })}
          {(["createdAt", "updatedAt", "statusChangedAt", "confirmedAt", "unsubscribedAt"] as const).map((name) => {
            const at = subscriber[name];
            return <Fact key={name} title={t(`exported.${name}`)}>{at && <Time value={at} />}</Fact>;
          })}
        </>
      )}
      action={
        <button
          type="button"
          disabled={!pages.length}
          onClick={() => saveJson(pages.length === 1 ? pages[0] : pages, `personal-data-${data.subscriber.value?.id}.json`)}
        >
          {t("person.saveData")}
        </button>
      }
    >
      {({ customFields, urls }) => (
        <>
          <p class="muted screen">{t("person.dataText")}</p>
          <Timeline data={data} fields={customFields} />
          <List title={t("events")}>
            {pages.flatMap((page) =>
              page.events.map((event) => (
                <li key={event.id}>
                  {event.type} · <Time value={event.timestamp} />
                </li>
              )),
            )}
          </List>
          <List title={t("deliveries")}>
            {pages.flatMap((page) =>
              page.deliveries.map(({ delivery }) => (
                <li key={delivery.id}>
                  <DeliveryLabel delivery={delivery} /> {delivery.eventType} →{" "}
                  <bdi>{urls.get(delivery.webhookId) ?? delivery.webhookId}</bdi> · <Time value={delivery.createdAt} />
                </li>
              )),
            )}
          </List>
        </>
      )}
    </Page>
  );
}

async function loadAll(data: PersonData, signal: AbortSignal): Promise<void> {
  await data.load(signal);
  if (data.error.value) throw data.error.value;
}

/** A page to print about a person: whether they may be mailed, facts, and what it contains. */
function Page<Data extends object>({
  id,
  data,
  loaded,
  title,
  facts,
  action,
  children,
}: {
  id: string;
  data: PersonData;
  loaded: Loaded<Data>;
  title: string;
  /** More facts about a subscriber. */
  facts?: (data: Data, subscriber: Subscriber) => ComponentChildren;
  action?: ComponentChildren;
  children: (data: Data) => ComponentChildren;
}) {
  const account = session.value?.account;
  const time = useMemo(() => new Date().toISOString(), [loaded.data]);
  return (
    <div class="page record">
      <div class="page-head">
        <h1>{title}</h1>
        <div class="actions">
          <a class="button" href={href(lastShown(`/subscribers/${encodeURIComponent(id)}`))}>
            {t("consent.back")}
          </a>
          {action}
          <button type="button" class="main" onClick={() => print()}>
            {t("consent.print")}
          </button>
        </div>
      </div>
      <Part of={loaded} bars={6}>
        {(found) => {
          const subscriber = data.subscriber.value;
          const mailability = data.mailability.value;
          const { source, ip, at } = subscriber?.consent ?? {};
          return (
            <>
              <h2>
                <bdi dir="auto">{subscriber?.email ?? id}</bdi>
              </h2>
              {mailability && <Sentence mailability={mailability} subscriber={subscriber} data={data} onLift={() => {}} />}
              <dl class="facts">
                {subscriber && (
                  <>
                    <Fact title={t("column.name")}>
                      <bdi>
                        {subscriber.firstName} {subscriber.lastName}
                      </bdi>
                    </Fact>
                    <Fact title={t("exported.id")}>
                      <code>{subscriber.id}</code>
                    </Fact>
                    <Fact title={t("column.status")}>
                      <StatusLabel status={subscriber.status} />
                    </Fact>
                    {facts?.(found, subscriber)}
                  </>
                )}
                <Fact title={t("exported.consentSource")}>{source && <bdi>{source}</bdi>}</Fact>
                <Fact title={t("exported.consentAt")}>{at && <Time value={at} />}</Fact>
                <Fact title={t("exported.consentIp")}>{ip}</Fact>
                <Fact title={t("consent.account")}>
                  <bdi>{account?.displayName || account?.email}</bdi>
                </Fact>
                <Fact title={t("consent.time")}>
                  <Time value={time} />
                </Fact>
              </dl>
              {children(found)}
            </>
          );
        }}
      </Part>
    </div>
  );
}

function Names({ of: names }: { of: string[] }) {
  if (!names.length) return <>–</>;
  return (
    <span class="tags wrap">
      {names.map((name) => (
        <bdi class="tag" key={name}>
          {name}
        </bdi>
      ))}
    </span>
  );
}

function List({ title, children }: { title: string; children: ComponentChildren[] }) {
  return (
    <section class="field">
      <h3>{title}</h3>
      {children.length ? <ol class="timeline">{children}</ol> : "–"}
    </section>
  );
}
