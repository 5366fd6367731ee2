import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { announce, announced } from "../src/announce.ts";

test("of several texts within two seconds the last is announced, and the same one again as another", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  announce("Saving");
  announce("Saved");
  assert.equal(announced.value, "");
  mock.timers.tick(100);
  assert.equal(announced.value, "Saved");
  announce("Saved");
  mock.timers.tick(1_999);
  assert.equal(announced.value, "Saved");
  mock.timers.tick(1);
  assert.notEqual(announced.value, "Saved");
  assert.equal(announced.value.trim(), "Saved");
});
