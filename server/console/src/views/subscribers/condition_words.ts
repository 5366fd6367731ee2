// Fields, operators and values of filters in words.

import { filterWords } from "../../filter_words.ts";
import { day, named, plural, t } from "../../texts.ts";
import { type Condition, conditionOf, type FilterField } from "./conditions.ts";

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
  const condition = conditionOf(part, fields);
  const field = fields.find((each) => each.name === condition?.field);
  if (condition && field) return [fieldTitle(field), rest(condition, field)];
  return ["", filterWords(part, named)];
}
