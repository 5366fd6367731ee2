import { useId } from "preact/hooks";
import type { CustomField, ImportJob, ImportOptions } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { number, parts, t } from "../../texts.ts";
import {
  CONSENT_CHOICES,
  CONSENT_TARGETS,
  type Choice,
  type Decided,
  hasProblem,
  IGNORE,
  NEW,
  NEW_TEXT,
  newField,
  TARGETS,
  typeOf,
} from "./columns.ts";
import { listed } from "./repairs.tsx";
import { targetText } from "./words.tsx";

/** The columns of a file, with what becomes of them. */
export function ColumnList({
  job,
  order,
  decisions,
  options,
  fields,
  onChoose,
  onChooseRest,
}: {
  job: ImportJob;
  /** The columns in the order in which they are shown, which stays while choices are made. */
  order: number[];
  decisions: Decided[];
  options: ImportOptions;
  fields: CustomField[];
  onChoose: (index: number, choice: Choice) => void;
  onChooseRest: (choice: Choice) => void;
}) {
  // A column that looks like consent is decided alone.
  const rest = decisions.filter(({ choice, column }) => choice === "" && !column.looksLikeConsent).length;
  const labels = new Map(fields.map(({ key, label }) => [`customFields.${key}`, label]));
  return (
    <div class="column-list">
      {rest > 1 && (
        <div class="line">
          <button type="button" onClick={() => onChooseRest(IGNORE)}>
            {t("import.ignoreAll", { count: number(rest) })}
          </button>
          <button type="button" onClick={() => onChooseRest(NEW)}>
            {t("import.newForAll")}
          </button>
        </div>
      )}
      <p class="column-head">
        <span>{t("import.columnHead")}</span>
        <span>{t("import.fieldHead")}</span>
      </p>
      <ul>
        {order.map((index) => {
          const one = decisions[index];
          return (
            one && (
              <Column
                key={index}
                one={one}
                type={(one.choice === NEW && newField(options, index)?.dataType) || typeOf(one.column, options).dataType}
                isJson={job.format === "json"}
                isWrong={hasProblem(job, one.column)}
                fields={fields}
                labels={labels}
                onChoose={(choice) => onChoose(index, choice)}
              />
            )
          );
        })}
      </ul>
    </div>
  );
}

function Column({
  one: { column, index, choice },
  type,
  isJson,
  isWrong,
  fields,
  labels,
  onChoose,
}: {
  one: Decided;
  type: CustomField["dataType"];
  isJson: boolean;
  isWrong: boolean;
  fields: CustomField[];
  labels: ReadonlyMap<string, string>;
  onChoose: (choice: Choice) => void;
}) {
  const id = useId();
  const isOpen = choice === "" || isWrong;
  const kind = isOpen ? "open" : choice === IGNORE ? "ignored" : "known";
  // Of JSON, only unknown fields can be decided.
  const isFixed = isJson && !["", IGNORE, NEW].includes(choice);
  return (
    <li class={kind}>
      <span class="mark" title={t(`import.mark.${kind}`)}>
        <Icon name={isOpen ? "warning" : choice === IGNORE ? "stop" : "check"} />
        <span class="unseen">{t(`import.mark.${kind}`)}</span>
      </span>
      <div class="what">
        <span class="column-name" id={id}>
          <bdi dir="auto">{column.name || t("import.column", { number: number(index + 1) })}</bdi>
        </span>
        <small id={`${id}-of`}>
          {column.looksLikeConsent && isOpen && <b class="amber">{t("import.consentColumn")} </b>}
          {column.examples.length ? (
            <bdi dir="auto">{column.examples.join(" · ")}</bdi>
          ) : (
            t("import.emptyColumn")
          )}
          {column.nearestType && ["", NEW].includes(choice) && (
            <span class="amber">
              {" "}
              {parts("import.notType", { type: t(`dataType.${column.nearestType}`), examples: listed(column.counterexamples) })}
            </span>
          )}
        </small>
      </div>
      {isFixed ? (
        <span class="target">{targetText(choice, labels)}</span>
      ) : (
        <select aria-labelledby={id} aria-describedby={`${id}-of`} value={choice} onChange={(event) => onChoose(event.currentTarget.value)}>
          {choice === "" && (
            <option value="" disabled>
              {t("import.choosePlease")}
            </option>
          )}
          {column.looksLikeConsent && !isJson ? (
            <>
              {CONSENT_CHOICES.map((target) => (
                <Target key={target} target={target} labels={labels} />
              ))}
              <option value={IGNORE}>{t("import.notConsent")}</option>
            </>
          ) : (
            <>
              <option value={IGNORE}>{t("import.ignore")}</option>
              <option value={NEW}>{t("import.newField", { type: t(`dataType.${type}`) })}</option>
              {!isJson && (
                <>
                  {type !== "TEXT" && (
                    <option value={NEW_TEXT}>{t("import.newField", { type: t("dataType.TEXT") })}</option>
                  )}
                  <optgroup label={t("import.fields")}>
                    {TARGETS.map((target) => (
                      <Target key={target} target={target} labels={labels} />
                    ))}
                    {fields.map(({ key, label }) => (
                      <option key={key} value={`customFields.${key}`}>
                        {label}
                      </option>
                    ))}
                  </optgroup>
                  <optgroup label={t("import.consent")}>
                    {CONSENT_TARGETS.map((target) => (
                      <Target key={target} target={target} labels={labels} />
                    ))}
                  </optgroup>
                </>
              )}
            </>
          )}
          {!isListed(choice, column.looksLikeConsent, fields) && <Target target={choice} labels={labels} />}
        </select>
      )}
    </li>
  );
}

function Target({ target, labels }: { target: string; labels: ReadonlyMap<string, string> }) {
  return <option value={target}>{targetText(target, labels)}</option>;
}

/** Whether a choice is one of those that are listed. */
function isListed(choice: Choice, isConsent: boolean, fields: CustomField[]): boolean {
  if (["", IGNORE].includes(choice)) return true;
  if (isConsent) return (CONSENT_CHOICES as readonly string[]).includes(choice);
  const targets: readonly string[] = [NEW, NEW_TEXT, ...TARGETS, ...CONSENT_TARGETS];
  return targets.includes(choice) || fields.some(({ key }) => choice === `customFields.${key}`);
}
