import assert from "node:assert/strict";
import { test } from "node:test";
import { elapsedDays } from "../src/clock.ts";

test("days are counted when they are over", () => {
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  assert.equal(elapsedDays(hoursAgo(-1)), 0);
  assert.equal(elapsedDays(hoursAgo(23)), 0);
  assert.equal(elapsedDays(hoursAgo(49)), 2);
});
