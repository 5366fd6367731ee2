// Fields, operators and values of filters in words.

import { capitalized, filterWords } from "../../filter_words.ts";
import { day, named, plural, t } from "../../texts.ts";
import { type Condition, conditionOf, type FilterField } from "./conditions.ts";
import { partsOf } from "./filter_parts.ts";

export function fieldTitle(field: FilterField): string {
  return field.label ?? named("filter", field.name);
}

/** Returns a value as people read it, such as Confirmed. */
export function valueTitle(field: FilterField, value: string): string {
  if (field.type === "status") return named("status", value);
  if (field.type === "boolean") return t(value === "true" ? "yes" : "no");
  return value;
}

/** Returns the operator and the value in words, such as: include “vip”. */
function rest({ operator, value }: Condition, field: FilterField): string {
  if (operator.form === "days") return plural(`filter.days.${operator.name as "lastDays" | "beforeDays"}`, Number(value));
  const name = operatorTitle(operator.name, field);
  if (operator.form === "any") return name;
  const isDay = field.type === "date" && /^\d{4}-\d\d-\d\d$/.test(value);
  const title = isDay ? day(value) : valueTitle(field, value);
  return `${name} ${field.type === "text" || field.type === "tags" || field.type === "email" ? t("filter.quote", { text: title }) : title}`;
}

/** Returns the name of an operator, which differs between some types. */
export function operatorTitle(name: Condition["operator"]["name"], field: FilterField): string {
  const key = `${name}.${field.type}`;
  const found = named("op", key);
  return found === key ? t(`op.${name}`) : found;
}

/** Returns a part of a filter in words: what it compares, and the rest. */
export function partWords(part: string, fields: readonly FilterField[]): [string, string] {
  return simpleWords(part, fields) ?? ["", capitalized(combinedWords(part, fields))];
}

/** Returns a filter in words, such as: Plan is “pro” and tags include “vip”. */
export function filterText(filter: string, fields: readonly FilterField[]): string {
  const said = (partsOf(filter) ?? [filter]).map((part) => partText(part, fields));
  return capitalized(said.join(` ${t("filter.AND")} `));
}

function partText(part: string, fields: readonly FilterField[]): string {
  return simpleWords(part, fields)?.join(" ") ?? combinedWords(part, fields);
}

function simpleWords(part: string, fields: readonly FilterField[]): [string, string] | null {
  const condition = conditionOf(part, fields);
  const field = fields.find((each) => each.name === condition?.field);
  return condition && field ? [fieldTitle(field), rest(condition, field)] : null;
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
/** A condition in a longer expression, or a text, which can look like one. */
const CONDITION = new RegExp(
  String.raw`${STRING}|(?:\bNOT )?\b[a-z][\w.]*\s*(?:<=|>=|!=|[=<>:])\s*(?:daysAgo\([^()]*\)|${STRING}|[^\s()"'\\]+)`,
  "gs",
);

/** Returns conditions that are combined by OR, NOT and parentheses in words. */
function combinedWords(part: string, fields: readonly FilterField[]): string {
  const say = (group: string, name: string) =>
    fields.find((each) => each.label && group === "filter" && each.name === name)?.label ?? named(group, name);
  const said: string[] = [];
  let end = 0;
  for (const { 0: found, index } of part.matchAll(CONDITION)) {
    const words = simpleWords(found, fields);
    const denied = !words && found.startsWith("NOT ") && simpleWords(found.slice(4), fields);
    if (!words && !denied) continue;
    said.push(filterWords(part.slice(end, index), say), ...(denied ? [t("filter.NOT"), ...denied] : (words ?? [])));
    end = index + found.length;
  }
  said.push(filterWords(part.slice(end), say));
  return said.filter(Boolean).join(" ").replaceAll("( ", "(").replaceAll(" )", ")");
}
