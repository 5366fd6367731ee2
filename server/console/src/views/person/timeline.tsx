import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { notify } from "../../announce.ts";
import type { CustomField, SubscriberHistoryEntry } from "../../api/types.ts";
import { ActorName } from "../../components/actor_name.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { errorText, named, parts, quoted, t } from "../../texts.ts";
import { importName } from "./import_name.tsx";
import type { PersonData } from "./person_data.ts";

const NONE = "–";

/** The changes of a person, newest first: when, who, and the values before and after. */
export function Timeline({ data, fields }: { data: PersonData; fields: CustomField[] }) {
  return (
    <section class="field">
      <h3>{t("history.title")}</h3>
      <ol class="timeline">
        {data.history.value.map((entry) => (
          <li key={entry.id}>
            <p>
              {what(entry)}
              {entry.statusChange && (
                <>
                  {" "}
                  {entry.statusChange.from && (
                    <>
                      <StatusLabel status={entry.statusChange.from} /> <Arrow />{" "}
                    </>
                  )}
                  <StatusLabel status={entry.statusChange.to} />
                </>
              )}
            </p>
            <Values entry={entry} fields={fields} />
            {(entry.consentSource || entry.reason) && (
              <p>
                {quoted(<bdi>{entry.consentSource || entry.reason}</bdi>)}
              </p>
            )}
            <small>
              <Time value={entry.createdAt} /> · {who(entry, data)}
              {entry.ip && ` · ${entry.ip}`}
            </small>
          </li>
        ))}
      </ol>
      {data.moreHistory.value && (
        <button
          type="button"
          class="plain"
          onClick={() => void data.loadMoreHistory().catch((error) => notify(errorText(error)))}
        >
          {t("history.more")}
        </button>
      )}
    </section>
  );
}

function what(entry: SubscriberHistoryEntry): string {
  return t(`history.${entry.type}`);
}

function who(entry: SubscriberHistoryEntry, data: PersonData): ComponentChildren {
  const actor = entry.actor ? <ActorName actor={entry.actor} /> : t("actor.unknown");
  if (entry.source === "IMPORT") {
    return parts("history.byImport", { file: importName(data, entry.operationId), actor });
  }
  if (entry.source === "EMAIL_CHANGED") return parts("history.byAddress", { actor });
  return actor;
}

function Values({ entry, fields }: { entry: SubscriberHistoryEntry; fields: CustomField[] }) {
  if (entry.tagsChange) {
    return (
      <p class="tags wrap">
        {entry.tagsChange.added.map((tag) => (
          <ins class="tag" key={tag}>
            + <bdi>{tag}</bdi>
          </ins>
        ))}
        {entry.tagsChange.removed.map((tag) => (
          <del class="tag" key={tag}>
            − <bdi>{tag}</bdi>
          </del>
        ))}
      </p>
    );
  }
  const names = Object.keys(entry.after ?? {});
  return (
    <>
      {names.map((name) => (
        <p key={name} class="values">
          <span>{fieldName(name, fields)}:</span> <Value text={shown(entry.before?.[name])} /> <Arrow />{" "}
          <Value text={shown(entry.after?.[name])} />
        </p>
      ))}
    </>
  );
}

function fieldName(name: string, fields: CustomField[]): ComponentChildren {
  const key = name.replace(/^customFields\./, "");
  if (key === name) return named("person", name);
  return <bdi>{fields.find((field) => field.key === key)?.label ?? key}</bdi>;
}

/** The sign between the values before and after a change. */
export function Arrow() {
  return (
    <span role="img" aria-label={t("changedTo")}>
      →
    </span>
  );
}

/** A value. One that is too long scrolls, also with keys, so that what follows it stays in reach. */
export function Value({ text }: { text: string }) {
  if (text === NONE) {
    return (
      <span role="img" aria-label={t("emptyValue")}>
        {NONE}
      </span>
    );
  }
  return text.length > 60 ? <LongValue text={text} /> : <bdi>{text}</bdi>;
}

function LongValue({ text }: { text: string }) {
  const value = useRef<HTMLElement>(null);
  const isCut = useSignal(false);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { scrollHeight, clientHeight, scrollWidth, clientWidth } = entry?.target ?? document.body;
      isCut.value = scrollHeight > clientHeight || scrollWidth > clientWidth;
    });
    if (value.current) observer.observe(value.current);
    return () => observer.disconnect();
  }, [text]);
  return (
    <bdi ref={value} class="long" tabIndex={isCut.value ? 0 : undefined}>
      {text}
    </bdi>
  );
}

/** A value of a field in words. */
export function shown(value: unknown): string {
  if (value === null || value === undefined || value === "") return NONE;
  return typeof value === "boolean" ? t(value ? "yes" : "no") : String(value);
}
