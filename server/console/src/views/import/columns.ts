// What is done with the columns of a file, as options of the import, without I/O.

import type { CustomField, ImportJob, ImportJobColumn, ImportOptions } from "../../api/types.ts";

/** What is done with a column: a field, or one of the words below; empty if it is not decided. */
export type Choice = string;
export const IGNORE = "ignore";
/** A new field, of the type that the server proposes. */
export const NEW = "new";
/** A new field of the type TEXT. */
export const NEW_TEXT = "text";

/** The fields that a person can choose. */
export const TARGETS = [
  "email",
  "firstName",
  "lastName",
  "firstName+lastName",
  "tags",
  "createdAt",
] as const;
/** The fields that state consent. */
export const CONSENT_TARGETS = [
  "status",
  "optedIn",
  "optedOut",
  "confirmedAt",
  "unsubscribedAt",
  "consentSource",
  "consentIp",
  "consentAt",
] as const;
/** The fields that a column sets if it has the name of consent. */
export const CONSENT_CHOICES = ["status", "optedIn", "optedOut", "consentAt", "confirmedAt", "unsubscribedAt"] as const;

const CUSTOM = "customFields.";
const KNOWN = new Set([...TARGETS, ...CONSENT_TARGETS, "isConfirmed", "statusChangedAt"].map(key));
/** Names that cannot be those of new fields. */
const RESERVED = new Set([...KNOWN, "emailaddress", "id", "name", "updatedat"]);
const MOST_CHARACTERS = 80;
const DATES: readonly string[] = ["createdAt", "confirmedAt", "unsubscribedAt", "consentAt", "statusChangedAt"];
/** A date such as 31.12.2024, and no zeros. */
const NUMERIC = /^(?!0+\D)(\d{1,2})\D(\d{1,2})\D\d+/;

/** Names of columns in other languages, by field. */
const NAMES: ReadonlyMap<string, Choice> = new Map(
  Object.entries({
    email: "mail mailadresse emailadresse adresseemail courriel correo correoelectrónico indirizzoemail",
    firstName: "vorname fname prénom nombre nome voornaam",
    lastName: "nachname familienname lname surname nom apellido apellidos cognome sobrenome achternaam",
  }).flatMap(([field, names]) => names.split(" ").map((name) => [name, field] as const)),
);

/** A column with what is done with it. */
export interface Decided {
  column: ImportJobColumn;
  index: number;
  choice: Choice;
}

type Fields = readonly Pick<CustomField, "key">[];
type File = Pick<ImportJob, "columns" | "problems" | "format">;

/** Returns what the options do with each column. */
export function decisions(file: File, options: ImportOptions, fields: Fields): Decided[] {
  return file.columns.map((column, index) => {
    const choice = file.format === "json"
      ? choiceOfJson(column, options, fields)
      : choiceOf(column, index, options, fields, hasProblem(file, column));
    return { column, index, choice };
  });
}

/** Whether the file cannot be imported because of a column. */
export function hasProblem({ problems }: Pick<File, "problems">, { name }: ImportJobColumn): boolean {
  return problems.some(({ field }) => field === name);
}

function choiceOf(
  column: ImportJobColumn,
  index: number,
  options: ImportOptions,
  fields: Fields,
  isProblem: boolean,
): Choice {
  const { target } = column;
  const mapped = mappedTo(options, index);
  const added = newField(options, index);
  if (mapped === "" || isListed(column, index, options)) return IGNORE;
  const isNew = isNewField(target, fields);
  if (added) return added.dataType === "TEXT" && typeOf(column, options).dataType !== "TEXT" ? NEW_TEXT : NEW;
  if (mapped !== undefined) {
    if (mapped.startsWith(CUSTOM) || KNOWN.has(key(mapped))) return mapped;
    if (target.startsWith(CUSTOM) && !isNew) return target;
    // Without a new field in the options, the server adds one of the type TEXT.
    return typeOf(column, options).dataType === "TEXT" ? NEW : NEW_TEXT;
  }
  if (isNew) return "";
  if (target) return target;
  return column.unknown || isProblem ? "" : IGNORE;
}

function choiceOfJson({ name, target }: ImportJobColumn, options: ImportOptions, fields: Fields): Choice {
  if (!isNewField(target, fields)) return target;
  if (options.ignoreColumns?.includes(name.replace(CUSTOM, ""))) return IGNORE;
  return { CREATE_FIELDS: NEW, IGNORE: IGNORE, FAIL: "" }[options.unknownColumns ?? "FAIL"];
}

function isListed({ name }: ImportJobColumn, index: number, { ignoreColumns }: ImportOptions): boolean {
  return Boolean(ignoreColumns?.some((each) => [position(index), name].includes(each)));
}

/** Returns the columns whose values are lost. The opt-outs in those of consent count unless the options ignore them. */
export function ignored(all: readonly Decided[], options: ImportOptions): Decided[] {
  return all.filter(
    ({ column, index, choice }) =>
      choice === IGNORE && column.filled > 0 && (!column.looksLikeConsent || isListed(column, index, options)),
  );
}

function isNewField(target: string, fields: Fields): boolean {
  return target.startsWith(CUSTOM) && !fields.some((field) => CUSTOM + field.key === target);
}

/** Returns options that do with a column what was chosen. */
export function decided(
  options: ImportOptions,
  { column, index }: Pick<Decided, "column" | "index">,
  choice: Choice,
  format: string,
): ImportOptions {
  if (format === "json") return decidedJson(options, column.name.replace(CUSTOM, ""), choice);
  const isOther = (entry: string) => !entry.startsWith(`${position(index)}=`) && entryName(entry) !== column.name;
  const columnMap = (options.columnMap ?? []).filter(isOther);
  const ignoreColumns = (options.ignoreColumns ?? []).filter(
    (name) => name !== position(index) && name !== column.name,
  );
  const newFields = (options.newFields ?? []).filter((each) => each.column !== position(index));
  let { dateFormat } = options;
  if (choice === IGNORE) ignoreColumns.push(position(index));
  else if (choice === NEW || choice === NEW_TEXT) {
    const { dataType, order } = choice === NEW ? typeOf(column, options) : { dataType: "TEXT" as const };
    newFields.push({ column: position(index), label: labelOf(column, index), dataType });
    dateFormat = order ?? dateFormat;
  } else if (choice) columnMap.push(`${position(index)}=${choice}`);
  return { ...options, columnMap, ignoreColumns, newFields, dateFormat };
}

/** Of JSON, the action for unknown fields is the same for all that are not ignored. */
function decidedJson(options: ImportOptions, name: string, choice: Choice): ImportOptions {
  const ignoreColumns = (options.ignoreColumns ?? []).filter((each) => each !== name);
  if (choice === IGNORE) return { ...options, ignoreColumns: [...ignoreColumns, name] };
  return { ...options, ignoreColumns, unknownColumns: choice === NEW ? "CREATE_FIELDS" : null };
}

/** Returns the label and the type of a custom field, which the import can create for a column. */
export function fieldOf(
  { columns, options }: Pick<ImportJob, "columns" | "options">,
  key: string,
  fields: readonly CustomField[],
): { label: string; dataType?: CustomField["dataType"] | null } {
  const index = columns.findIndex(({ target }) => target === CUSTOM + key);
  const label = columns[index]?.name.replace(CUSTOM, "") ?? key;
  return fields.find((field) => field.key === key) ?? newField(options, index) ?? { label };
}

/** Returns the label of the new field for a column. */
export function labelOf(column: ImportJobColumn, index: number): string {
  const label = column.name
    .replaceAll(/[\p{C}=+]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, MOST_CHARACTERS - 2);
  if (!label || label.startsWith("#")) return `Column ${index + 1}`;
  return RESERVED.has(key(label)) ? `${label} 2` : label;
}

/** Returns the type of the new field for a column, and the order of its dates if the file needs one. */
export function typeOf(
  { proposedType, examples }: ImportJobColumn,
  { dateFormat }: ImportOptions,
): { dataType: CustomField["dataType"]; order?: "DMY" | "MDY" } {
  const isNumeric = examples.some((text) => NUMERIC.test(text.trim()));
  if (proposedType !== "DATE" || dateFormat || !isNumeric) return { dataType: proposedType };
  const order = orderOf(examples);
  return order ? { dataType: "DATE", order } : { dataType: "TEXT" };
}

/**
 * Returns the order of day and month of dates with the same separator, if a day is larger than 12. With dots, as in
 * 01.02.2024, the day comes first.
 */
export function orderOf(examples: readonly string[]): "DMY" | "MDY" | undefined {
  const numeric = examples.map((text) => NUMERIC.exec(text.trim())).filter((found) => found !== null);
  const [separator, ...others] = new Set(numeric.map(([date]) => date.replaceAll(/\d/g, "")));
  if (others.length) return undefined;
  if (numeric.some(([, first]) => Number(first) > 12)) return "DMY";
  if (numeric.some(([, , second]) => Number(second) > 12)) return "MDY";
  return separator === ".." ? "DMY" : undefined;
}

/** Returns options with the fields that the names of undecided columns state in other languages. */
export function suggested(all: readonly Decided[], options: ImportOptions, format: string): ImportOptions {
  const taken = new Set(all.map(({ choice }) => choice));
  let changed = options;
  for (const one of all) {
    const field = one.choice === "" && !one.column.looksLikeConsent ? NAMES.get(key(one.column.name)) : undefined;
    if (!field || taken.has(field)) continue;
    taken.add(field);
    changed = decided(changed, one, field, format);
  }
  return changed;
}

/** Returns the columns with dates whose order of day and month is not known. */
export function unclearDates(
  all: readonly Decided[],
  fields: readonly Pick<CustomField, "key" | "dataType">[],
  options: ImportOptions,
): ImportJobColumn[] {
  const isDate = ({ choice, column }: Decided) =>
    choice.split("+").some((field) => DATES.includes(field)) ||
    (choice === NEW && typeOf(column, options).dataType === "DATE") ||
    fields.some(({ key, dataType }) => dataType === "DATE" && choice === CUSTOM + key);
  return all
    .filter((one) => isDate(one) && one.column.examples.some((text) => NUMERIC.test(text.trim())))
    .map(({ column }) => column);
}

/** Whether the columns state who may be mailed. In a file of another service, any column of consent does. */
export function statesConsent({ columns, preset }: Pick<ImportJob, "columns" | "preset">): boolean {
  const stating: readonly string[] = ["status", "optedIn", "optedOut", "isConfirmed", "confirmedAt"];
  return columns.some(
    ({ target, filled, looksLikeConsent }) =>
      (filled > 0 && target.split("+").some((field) => stating.includes(field))) ||
      (Boolean(preset) && (looksLikeConsent || target === "unsubscribedAt")),
  );
}

/** Whether the only statement of consent is a date of confirmation, which confirms no one without a status. */
export function hasDateOnly({ columns, preset }: Pick<ImportJob, "columns" | "preset">): boolean {
  const stated = columns.flatMap(({ target }) => target.split("+"));
  return !preset && stated.includes("confirmedAt") && !stated.some((field) => ["status", "optedIn", "isConfirmed"].includes(field));
}

function mappedTo(options: ImportOptions, index: number): string | undefined {
  const start = `${position(index)}=`;
  return options.columnMap?.find((entry) => entry.startsWith(start))?.slice(start.length);
}

/** Returns the new field for a column. */
export function newField({ newFields }: ImportOptions, index: number) {
  return newFields?.find(({ column }) => column === position(index));
}

function entryName(entry: string): string {
  return entry.slice(0, Math.max(0, entry.lastIndexOf("=")));
}

function position(index: number): string {
  return `#${index + 1}`;
}

function key(text: string): string {
  return text.toLowerCase().replaceAll(/[\s_-]/g, "");
}
