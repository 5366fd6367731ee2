import assert from "node:assert/strict";
import { test } from "node:test";
import type { ImportJobColumn, ImportOptions } from "../src/api/types.ts";
import { decided, decisions, IGNORE, labelOf, NEW, NEW_TEXT, suggested, typeOf, unclearDates } from "../src/views/import/columns.ts";

function column(name: string, changes: Partial<ImportJobColumn> = {}): ImportJobColumn {
  return {
    name,
    target: "",
    filled: 1,
    examples: [],
    proposedType: "TEXT",
    looksLikeConsent: false,
    unknown: false,
    ...changes,
  };
}

const FIELDS = [{ key: "town" }];

function choices(columns: ImportJobColumn[], options: ImportOptions = {}, format = "csv"): string[] {
  return decisions({ columns, problems: [], format }, options, FIELDS).map(({ choice }) => choice);
}

test("a column that the server does not know needs a decision, and one of a preset is ignored", () => {
  const columns = [column("email", { target: "email" }), column("Age", { unknown: true }), column("LEID")];
  assert.deepEqual(choices(columns), ["email", "", IGNORE]);
});

test("a choice is stored by position, and replaces earlier ones of the column", () => {
  const age = { column: column("Age", { unknown: true }), index: 1 };
  let options: ImportOptions = { columnMap: ["Age=tags", "#1=email"], ignoreColumns: ["Age"] };
  options = decided(options, age, "firstName", "csv");
  assert.deepEqual(options.columnMap, ["#1=email", "#2=firstName"]);
  assert.deepEqual(options.ignoreColumns, []);
  options = decided(options, age, IGNORE, "csv");
  assert.deepEqual(options.columnMap, ["#1=email"]);
  assert.deepEqual(options.ignoreColumns, ["#2"]);
});

test("choices are read from the options, also before the server has applied them", () => {
  const before = [column("email", { target: "email" }), column("Age", { unknown: true })];
  const options = decided({}, { column: before[1] as ImportJobColumn, index: 1 }, NEW, "csv");
  assert.deepEqual(choices(before, options), ["email", NEW]);
  const after = [column("email", { target: "email" }), column("Age", { target: "customFields.age" })];
  assert.deepEqual(choices(after, options), ["email", NEW]);
});

test("a column of old options becomes a field of the type TEXT", () => {
  const columns = [column("Points", { target: "customFields.points", proposedType: "NUMBER" }), column("Town", { target: "customFields.town" })];
  assert.deepEqual(choices(columns, { columnMap: ["#1=Points", "#2=Town"] }), [NEW_TEXT, "customFields.town"]);
});

test("a column that becomes a field only because another one does still needs a decision", () => {
  const columns = [column("Age", { target: "customFields.age" }), column("Town", { target: "customFields.town" })];
  assert.deepEqual(choices(columns, { unknownColumns: "CREATE_FIELDS" }), ["", "customFields.town"]);
});

test("an unknown field of JSON can be ignored or created", () => {
  const columns = [column("email", { target: "email" }), column("customFields.age", { target: "customFields.age" })];
  const age = { column: columns[1] as ImportJobColumn, index: 1 };
  assert.deepEqual(choices(columns, {}, "json"), ["email", ""]);
  assert.deepEqual(choices(columns, decided({}, age, NEW, "json"), "json"), ["email", NEW]);
  assert.deepEqual(choices(columns, decided({}, age, IGNORE, "json"), "json"), ["email", IGNORE]);
});

test("the label of a new field has no characters that options give a meaning", () => {
  assert.equal(labelOf(column(" a=b\n+ c "), 0), "a b c");
  assert.equal(labelOf(column(""), 2), "Column 3");
  assert.equal(labelOf(column("Email"), 1), "Email 2");
  assert.equal(labelOf(column("x".repeat(1_000)), 0).length, 78);
});

test("a date whose order is not certain stays text", () => {
  const dates = (...examples: string[]) => column("Since", { proposedType: "DATE", examples });
  assert.deepEqual(typeOf(dates("2024-12-31"), {}), { dataType: "DATE" });
  assert.deepEqual(typeOf(dates("01.02.2024", "31.12.2024"), {}), { dataType: "DATE", order: "DMY" });
  assert.deepEqual(typeOf(dates("12/31/2024"), {}), { dataType: "DATE", order: "MDY" });
  assert.deepEqual(typeOf(dates("01.02.2024"), {}), { dataType: "DATE", order: "DMY" });
  assert.deepEqual(typeOf(dates("01/02/2024"), {}), { dataType: "TEXT" });
  assert.deepEqual(typeOf(dates("01.02.2024", "12/31/2024"), {}), { dataType: "TEXT" });
  assert.deepEqual(typeOf(dates("01.02.2024"), { dateFormat: "DMY" }), { dataType: "DATE" });
});

test("dates need an order if the day and the month could be exchanged", () => {
  const unclear = (choice: string, ...examples: string[]) =>
    unclearDates(
      [{ column: column("When", { proposedType: "DATE", examples }), index: 0, choice }],
      [
        { key: "since", dataType: "DATE" },
        { key: "town", dataType: "TEXT" },
      ],
      {},
    ).length > 0;
  assert.ok(unclear("confirmedAt+consentAt", "2024-12-31", "03/04/2024"));
  assert.ok(unclear("customFields.since", "1.2.24"));
  assert.ok(unclear(NEW, "1.2.24"));
  assert.ok(!unclear(NEW, "2024-12-31"));
  assert.ok(!unclear("customFields.town", "1.2.24"));
  assert.ok(!unclear("createdAt", "2024-12-31 10:00", "00/00/0000", "1735603200"));
});

test("names of columns in other languages suggest a field, but never one of consent or twice", () => {
  const names = ["Vorname", "E-Mail-Adresse", "Nachname", "Name", "surname"];
  const columns = names.map((name) => column(name, { unknown: true }));
  columns.push(column("mail", { unknown: true, looksLikeConsent: true }));
  const all = decisions({ columns, problems: [], format: "csv" }, {}, FIELDS);
  const { columnMap, ignoreColumns } = suggested(all, {}, "csv");
  assert.deepEqual(columnMap, ["#1=firstName", "#2=email", "#3=lastName"]);
  assert.deepEqual(ignoreColumns, []);
});

test("the name of a member of all objects is no field in another language", () => {
  const all = ["constructor", "toString", "Nachname"].map((name, index) => ({
    column: column(name, { unknown: true }),
    index,
    choice: "" as const,
  }));
  assert.deepEqual(suggested(all, {}, "csv").columnMap, ["#3=lastName"]);
});
