import assert from "node:assert/strict";
import { test } from "node:test";
import type { Query } from "../src/views/subscribers/list.ts";
import { filterOf, searched, Selection, target } from "../src/views/subscribers/selection.ts";

const EVERYONE: Query = { filter: "", q: "", status: "", segmentId: "", orderBy: "createdAt desc" };

test("people are taken out of all that match, and added again", () => {
  const without = Selection.ALL.with(["a", "b"], false);
  assert.equal(without.count(10), 8);
  assert.equal(without.has("a"), false);
  assert.equal(without.has("c"), true);
  assert.equal(without.with(["a"], true).count(10), 9);
});

test("all of some people are selected if none of them is taken out", () => {
  assert.equal(Selection.NONE.hasAll([]), false);
  assert.equal(Selection.NONE.with(["a"], true).hasAll(["a", "b"]), false);
  assert.equal(Selection.ALL.hasAll(["a", "b"]), true);
  assert.equal(Selection.ALL.with(["b"], false).hasAll(["a", "b"]), false);
});

test("chosen rows are those with their identifiers", () => {
  const chosen = Selection.NONE.with(["a", "b"], true).with(["a"], false);
  assert.equal(chosen.count(10), 1);
  assert.deepEqual(target({ ...EVERYONE, filter: "tagCount = 1" }, chosen), { ids: ["b"] });
});

test("conditions apply to the whole filter, of which OR binds more tightly than AND", () => {
  const query: Query = { ...EVERYONE, filter: 'tags:"a" OR tags:"b"', status: "BOUNCED" };
  assert.equal(filterOf(query), '(tags:"a" OR tags:"b") AND status = BOUNCED');
  assert.deepEqual(target(query, Selection.ALL.with(["x"], false), ["COMPLAINED"]), {
    filter: '(tags:"a" OR tags:"b") AND status = BOUNCED AND status != COMPLAINED',
    q: "",
    segmentId: "",
    excludeIds: ["x"],
  });
});

test("without a search, everyone is selected", () => {
  assert.equal(searched(EVERYONE).filter, "email:*");
  assert.equal(searched({ ...EVERYONE, q: "ada" }).filter, "");
});
