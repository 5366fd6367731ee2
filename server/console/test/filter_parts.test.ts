import assert from "node:assert/strict";
import { test } from "node:test";
import { completionOf } from "../src/views/subscribers/completion.ts";
import { conditionOf, filterFields, written } from "../src/views/subscribers/conditions.ts";
import { joined, partsOf, withParentheses } from "../src/views/subscribers/filter_parts.ts";

const FIELDS = filterFields([
  { key: "plan", label: "Plan", id: "1", dataType: "TEXT" },
  { key: "score", label: "Score", id: "2", dataType: "NUMBER" },
  { key: "member", label: "Member", id: "3", dataType: "BOOLEAN" },
  { key: "birthday", label: "Birthday", id: "4", dataType: "DATE" },
]);

test("a filter has parts that all apply, with parentheses around each OR", () => {
  const cases: Record<string, string[]> = {
    "": [],
    'tags:"a"': ['tags:"a"'],
    'tags:"a" AND status = CONFIRMED': ['tags:"a"', "status = CONFIRMED"],
    'tags:"a" -status=CONFIRMED  createdAt > daysAgo(30)': ['tags:"a"', "NOT status=CONFIRMED", "createdAt > daysAgo(30)"],
    'status = BOUNCED AND tags:"a" OR tags:"b"': ["status = BOUNCED", '(tags:"a" OR tags:"b")'],
    '(tags:"a" OR tags:"b") AND (status = BOUNCED)': ['(tags:"a" OR tags:"b")', "status = BOUNCED"],
    '(tags:"a" AND tags:"b") OR tags:"c"': ['((tags:"a" AND tags:"b") OR tags:"c")'],
    '(tags:"a" OR tags:"b" AND tags:"c") tagCount = 1': ['(tags:"a" OR tags:"b")', 'tags:"c"', "tagCount = 1"],
    'NOT (tags:"a" OR tags:"b")': ['NOT (tags:"a" OR tags:"b")'],
    "NOT (tags:a AND tags:b)": ["NOT (tags:a AND tags:b)"],
    'status = (BOUNCED OR CONFIRMED) name:") AND ("': ["status = (BOUNCED OR CONFIRMED)", 'name:") AND ("'],
    'name:"a \\" OR b" OR name:\'"\'': ['(name:"a \\" OR b" OR name:\'"\')'],
  };
  for (const [filter, parts] of Object.entries(cases)) {
    assert.deepEqual(partsOf(filter), parts, filter);
    // The text of the parts is read in the same way.
    assert.deepEqual(partsOf(joined(parts)), parts, filter);
  }
});

test("a text that is no filter has no parts and stays as it is", () => {
  for (const text of ["ada", "tags:", 'tags:"a', "(tags:a", "tags:a)", "tags:a OR", "AND tags:a", "tags:(a", "NOT", "a == b"]) {
    assert.equal(partsOf(text), null, text);
    assert.equal(withParentheses(text), text);
  }
  assert.equal(partsOf("(".repeat(10_000)), null);
});

test("a condition is read from a part and written as it was", () => {
  for (const part of [
    "status = CONFIRMED",
    "status != BOUNCED",
    'tags:"vip"',
    'NOT tags:"a \\"b\\" \\\\ \\*"',
    'email = "ada*"',
    'email:"acme"',
    'customFields.plan = "10115"',
    'customFields.plan = "2026-01-31"',
    "customFields.score >= -1.5",
    "customFields.member = true",
    "customFields.birthday < 2000-01-31",
    "createdAt > daysAgo(30)",
    'createdAt >= "2026-01-31T12:00:00Z"',
    "confirmedAt:*",
    "NOT customFields.plan:*",
  ]) {
    const condition = conditionOf(part, FIELDS);
    const field = FIELDS.find((each) => each.name === condition?.field);
    assert.ok(condition && field, part);
    assert.equal(written(condition, field.type), part);
  }
  assert.equal(conditionOf("tags:vip", FIELDS)?.value, "vip");
});

test("parts that the editor cannot show are left as text", () => {
  for (const part of [
    '(tags:"a" OR tags:"b")',
    "status = (BOUNCED OR CONFIRMED)",
    "updatedAt > confirmedAt",
    "customFields.unknown = 1",
    "NOT status = BOUNCED",
    "createdAt = 2026-01-31",
  ]) {
    assert.equal(conditionOf(part, FIELDS), null, part);
  }
});

test("fields, operators, values and AND are completed at their places", () => {
  const kinds: Record<string, string | undefined> = {
    "sta": "field",
    "status ": "operator",
    "status =": "value",
    "status = CONF": "value",
    "status = (BOUNCED OR CO": "value",
    'tags:"v': "value",
    'tags:"v i': "value",
    'tags:"vip" ': "and",
    'tags:"vip" AND ': undefined,
    'tags:"vip" AND cr': "field",
    'tags:"vip" AND createdAt ': "operator",
    "createdAt > daysAgo(": undefined,
    'tags:"vip"': undefined,
    "Ada Lo": undefined,
    "NOT st": "field",
    "(st": "field",
    "unknown ": undefined,
    "": undefined,
  };
  for (const [text, kind] of Object.entries(kinds)) assert.equal(completionOf(text, FIELDS)?.kind, kind, text);
  assert.deepEqual(completionOf('NOT tags:"v i', FIELDS), {
    kind: "value", field: "tags", isQuoted: true, start: 9, text: "v i",
  });
  assert.deepEqual(completionOf("status = CONF", FIELDS), {
    kind: "value", field: "status", isQuoted: false, start: 9, text: "CONF",
  });
});
