import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Part } from "../components/part.tsx";
import { StatusLabel } from "../components/status.tsx";
import { Time } from "../components/time.tsx";
import { useLoaded } from "../load.ts";
import { href } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { session } from "../session.ts";
import { t } from "../texts.ts";
import { PersonData } from "./person/person_data.ts";
import { Sentence } from "./person/sentence.tsx";
import { Timeline } from "./person/timeline.tsx";

/** What proves the consent of a person or its end, as a page to print. */
export function ConsentRecord({ id = "" }: Parameters) {
  const data = useMemo(() => new PersonData(id, undefined, () => {}), [id]);
  const loaded = useLoaded(async () => {
    await data.load();
    if (data.error.value) throw data.error.value;
    while (data.moreHistory.value) await data.loadMoreHistory();
    // Other fields and tags are no part of the record.
    data.history.value = data.history.value.filter(
      ({ type, after }) => type !== "TAGS_CHANGED" && (type !== "FIELDS_CHANGED" || after?.email !== undefined),
    );
    return new Date().toISOString();
  }, id);
  const account = session.value?.account;
  return (
    <div class="page record">
      <div class="page-head">
        <h1>{t("consent.title")}</h1>
        <div class="actions">
          <a class="button" href={href(`/subscribers/${encodeURIComponent(id)}`)}>
            {t("consent.back")}
          </a>
          <button type="button" class="main" onClick={() => print()}>
            {t("consent.print")}
          </button>
        </div>
      </div>
      <Part of={loaded} bars={6}>
        {(time) => {
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
                    <Fact
                      title={t("column.name")}
                      value={
                        <bdi>
                          {subscriber.firstName} {subscriber.lastName}
                        </bdi>
                      }
                    />
                    <Fact title={t("exported.id")} value={<code>{subscriber.id}</code>} />
                    <Fact title={t("column.status")} value={<StatusLabel status={subscriber.status} />} />
                  </>
                )}
                <Fact title={t("exported.consentSource")} value={source && <bdi>{source}</bdi>} />
                <Fact title={t("exported.consentAt")} value={at && <Time value={at} />} />
                <Fact title={t("exported.consentIp")} value={ip} />
                <Fact title={t("consent.account")} value={<bdi>{account?.displayName || account?.email}</bdi>} />
                <Fact title={t("consent.time")} value={<Time value={time} />} />
              </dl>
              {subscriber && <Timeline data={data} fields={[]} />}
            </>
          );
        }}
      </Part>
    </div>
  );
}

function Fact({ title, value }: { title: string; value: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{value || "–"}</dd>
    </div>
  );
}
