import assert from "node:assert/strict";
import { test } from "node:test";
import { filterWords } from "../src/filter_words.ts";

const WORDS: Record<string, string> = {
  AND: "and",
  quote: "“{text}”",
  OR: "or",
  NOT: "not",
  "=": "is",
  "!=": "is not",
  include: "include",
  contains: "contains",
  CONFIRMED: "Confirmed",
};
const words = (filter: string) => filterWords(filter, (_, name) => WORDS[name] ?? name);

test("conditions are put in words, values keep what they are", () => {
  assert.equal(
    words('status = "CONFIRMED" AND (tags:"vip" OR name:"AND (x")'),
    "status is Confirmed and (tags include “vip” or name contains “AND (x”)",
  );
  assert.equal(words('NOT customFields.plan != "a \\"b\\""'), "not plan is not “a \"b\"”");
  assert.equal(words("createdAt > daysAgo(30)"), "createdAt > daysAgo (30)");
  assert.equal(words("status = CONFIRMED"), "status is Confirmed");
});

test("any text is returned without an error", () => {
  for (const text of ["", '"', "((", 'tags:"<b>', "a = b = c"]) assert.equal(typeof words(text), "string");
});
