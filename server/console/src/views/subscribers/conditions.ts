// Conditions of filters as a field, an operator and a value, without I/O.

export type Type = "email" | "text" | "status" | "tags" | "count" | "number" | "boolean" | "date";
/** How a value is written: as it is, as a beginning, as days before now, or none. */
type Form = "plain" | "prefix" | "days" | "any";

export interface Operator {
  /** Names the operator in texts: `op.is`. */
  name: OperatorName;
  isNegated?: true;
  sign: string;
  form: Form;
}

export interface FilterField {
  name: string;
  type: Type;
  /** The title and the identifier of a custom field. */
  label?: string;
  id?: string;
}

export interface Condition {
  field: string;
  operator: Operator;
  value: string;
}

const OPERATORS = {
  is: { sign: "=", form: "plain" },
  isNot: { sign: "!=", form: "plain" },
  contains: { sign: ":", form: "plain" },
  containsNot: { isNegated: true, sign: ":", form: "plain" },
  begins: { sign: "=", form: "prefix" },
  less: { sign: "<", form: "plain" },
  atMost: { sign: "<=", form: "plain" },
  more: { sign: ">", form: "plain" },
  atLeast: { sign: ">=", form: "plain" },
  lastDays: { sign: ">", form: "days" },
  beforeDays: { sign: "<", form: "days" },
  any: { sign: ":", form: "any" },
  none: { isNegated: true, sign: ":", form: "any" },
} as const satisfies Record<string, Omit<Operator, "name">>;

export type OperatorName = keyof typeof OPERATORS;

const NAMES: Record<Type, OperatorName[]> = {
  email: ["contains", "is", "isNot", "begins", "containsNot"],
  text: ["is", "contains", "begins", "isNot", "containsNot", "any", "none"],
  status: ["is", "isNot"],
  tags: ["contains", "containsNot", "any", "none"],
  count: ["atLeast", "atMost", "is"],
  number: ["is", "isNot", "atLeast", "more", "atMost", "less", "any", "none"],
  boolean: ["is", "isNot", "any", "none"],
  date: ["lastDays", "beforeDays", "atLeast", "less", "any", "none"],
};

/** The operators of a type; the first is the usual one. */
export function operatorsOf(type: Type): Operator[] {
  return NAMES[type].map((name) => ({ name, ...OPERATORS[name] }));
}

/** The fields of all subscribers. */
export const FIELDS: readonly FilterField[] = [
  { name: "status", type: "status" },
  { name: "tags", type: "tags" },
  { name: "email", type: "email" },
  { name: "email.domain", type: "email" },
  { name: "name", type: "text" },
  { name: "firstName", type: "text" },
  { name: "lastName", type: "text" },
  { name: "createdAt", type: "date" },
  { name: "confirmedAt", type: "date" },
  { name: "unsubscribedAt", type: "date" },
  { name: "statusChangedAt", type: "date" },
  { name: "updatedAt", type: "date" },
  { name: "tagCount", type: "count" },
  { name: "consentSource", type: "text" },
];

/** Returns all fields with the custom ones of an account. */
export function filterFields(
  custom: { key: string; label: string; id: string; dataType: "TEXT" | "NUMBER" | "BOOLEAN" | "DATE" }[],
): FilterField[] {
  return [
    ...FIELDS,
    ...custom.map(({ key, label, id, dataType }) => ({
      name: `customFields.${key}`,
      type: dataType.toLowerCase() as Type,
      label,
      id,
    })),
  ];
}

const CONDITION =
  /^(NOT )?([\w.]+)\s*(<=|>=|!=|[=<>:])\s*(?:daysAgo\(\s*(-?\d+)\s*\)|"((?:[^"\\]|\\.)*)"|([^\s()"'\\]+))$/s;

/** Returns the condition that a part of a filter states; null if it is of another kind. */
export function conditionOf(part: string, fields: readonly FilterField[]): Condition | null {
  const found = CONDITION.exec(part);
  const field = fields.find((each) => each.name === found?.[2]);
  if (!found || !field) return null;
  const [, negation, , sign, days, quoted, plain] = found;
  // A name without quotes is that of another field.
  if (fields.some((each) => each.name === plain)) return null;
  const written = quoted ?? plain ?? "";
  const hasAsterisk = /(?<!\\)(?:\\\\)*\*$/.test(written);
  const text = (hasAsterisk ? written.slice(0, -1) : written).replace(/\\(.)/gs, "$1");
  const form: Form = days !== undefined ? "days" : !hasAsterisk ? "plain" : text ? "prefix" : "any";
  const operator = operatorsOf(field.type).find(
    (each) => each.sign === sign && each.form === form && Boolean(each.isNegated) === Boolean(negation),
  );
  return operator ? { field: field.name, operator, value: days ?? text } : null;
}

/** Returns a condition as a part of a filter. */
export function written({ field, operator, value }: Condition, type: Type): string {
  const { sign, form, isNegated } = operator;
  const comparison = sign === ":" ? `${field}:` : `${field} ${sign} `;
  return `${isNegated ? "NOT " : ""}${comparison}${valueOf(value, form, type)}`;
}

function valueOf(value: string, form: Form, type: Type): string {
  if (form === "any") return "*";
  if (form === "days") return `daysAgo(${value})`;
  const isPlain = ["status", "count", "number", "boolean"].includes(type) || /^\d{4}-\d\d-\d\d$/.test(value);
  if (isPlain && type !== "text" && form === "plain") return value;
  return quoted(value, form === "prefix");
}

/** Returns a text in quotes. */
export function quoted(text: string, isPrefix = false): string {
  return `"${text.replace(/["\\*]/g, "\\$&")}${isPrefix ? "*" : ""}"`;
}
