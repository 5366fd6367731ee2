import assert from "node:assert/strict";
import { test } from "node:test";
import { match } from "../src/routes.ts";

test("a pattern matches its paths only", () => {
  assert.deepEqual(match("/", "/"), {});
  assert.equal(match("/", "/subscribers"), null);
  assert.deepEqual(match("/subscribers/:id?", "/subscribers"), {});
  assert.deepEqual(match("/subscribers/:id?", "/subscribers/01M7"), { id: "01M7" });
  assert.equal(match("/subscribers/:id?", "/subscribers/01M7/history"), null);
  assert.equal(match("/webhooks/:id", "/webhooks"), null);
});

test("names are decoded, and malformed escapes stay as they are", () => {
  assert.deepEqual(match("/subscribers/:id", "/subscribers/a%2Fb%40c"), { id: "a/b@c" });
  assert.deepEqual(match("/subscribers/:id", "/subscribers/100%"), { id: "100%" });
});
