import assert from "node:assert/strict";
import { test } from "node:test";
import { type Day, period, place, scaleOf } from "../src/views/home/chart_layout.ts";

function day(created: number, lost: number): Day {
  return { date: "2026-11-21", created, lost, imported: 0 };
}

test("ticks are few, round, and contain zero and all values", () => {
  for (const [created, lost] of [[0, 0], [1, 0], [0, 1], [3, 7], [25, 3], [999, 1], [123_456, 98_765]] as const) {
    const scale = scaleOf([day(created, 0), day(0, lost)]);
    assert.ok(scale.ticks.includes(0), `${created} ${lost}`);
    assert.ok(scale.ticks.length >= 2 && scale.ticks.length <= 7, `${created} ${lost} ${scale.ticks}`);
    assert.ok(scale.top >= created && scale.bottom >= lost);
    assert.equal(scale.ticks[0], scale.top);
    assert.equal(scale.ticks.at(-1), 0 - scale.bottom);
    for (const tick of scale.ticks) assert.ok(Number.isInteger(tick));
  }
});

test("created and lost people have the same height", () => {
  const scale = scaleOf([day(10, 4)]);
  const zero = place(0, scale);
  assert.ok(Math.abs(zero - place(4, scale) - (place(-4, scale) - zero)) < 1e-9);
  assert.equal(place(scale.top, scale), 0);
  assert.equal(place(-scale.bottom, scale), 1);
});

test("a period counts its days in the time zone of the browser, over changes of the clocks", () => {
  assert.deepEqual(period(new Date(2026, 2, 31, 0, 30), 90), { from: "2026-01-01", to: "2026-03-31" });
  assert.deepEqual(period(new Date(2026, 0, 1, 23, 59), 1), { from: "2026-01-01", to: "2026-01-01" });
});
