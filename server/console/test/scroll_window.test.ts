import assert from "node:assert/strict";
import { test } from "node:test";
import { ScrollWindow } from "../src/views/subscribers/scroll_window.ts";

const VIEWPORT = 720;

test("a short list scrolls as the browser does", () => {
  const list = new ScrollWindow(1_000, 36, VIEWPORT);
  assert.equal(list.height, 36_000);
  list.scrollTo(3_600);
  assert.deepEqual(list.rows(0), [100, 120]);
  assert.equal(list.top(100), 3_600);
});

test("the end of the scroll bar reaches the last of a million rows", () => {
  const list = new ScrollWindow(1_000_000, 36, VIEWPORT);
  assert.equal(list.height, 8_000_000);
  list.scrollTo(list.height - VIEWPORT);
  assert.equal(list.rows(0)[1], 1_000_000);
  // The last row ends where the scrolled element ends.
  assert.equal(list.top(999_999) + 36, list.height);
  list.scrollTo(0);
  assert.deepEqual(list.rows(0), [0, 20]);
});

test("small scrolls are exact anywhere in a million rows", () => {
  const list = new ScrollWindow(1_000_000, 36, VIEWPORT);
  list.scrollTo(4_000_000);
  const top = list.top(500_000);
  const before = list.offset;
  list.scrollTo(4_000_072);
  assert.equal(list.offset, before + 72);
  assert.equal(list.top(500_000), top);
});

test("small scrolls up to the edge of the scroll bar reach the edge of the list", () => {
  const list = new ScrollWindow(1_000_000, 36, VIEWPORT, 1_000_000 * 36 - 100_000);
  const edge = list.height - VIEWPORT;
  while (list.scrollTop < edge) list.scrollTo(Math.min(list.scrollTop + 700, edge));
  assert.equal(list.rows(0)[1], 1_000_000);
});

test("a row is revealed at the nearest edge", () => {
  const list = new ScrollWindow(1_000_000, 36, VIEWPORT);
  assert.equal(list.reveal(19), false);
  assert.equal(list.reveal(20), true);
  assert.equal(list.offset, 36);
  list.reveal(999_999);
  assert.deepEqual(list.rows(0), [999_980, 1_000_000]);
  assert.ok(Math.abs(list.proportional() - (list.height - VIEWPORT)) < 0.001);
  list.reveal(0);
  assert.equal(list.offset, 0);
});

test("rows are shown at the same place after the scroll position is corrected", () => {
  const list = new ScrollWindow(1_000_000, 36, VIEWPORT, 18_000_000);
  list.scrollTo(list.scrollTop + 700);
  const distance = list.top(500_000) - list.scrollTop;
  list.scrollTop = list.proportional();
  assert.ok(Math.abs(list.top(500_000) - list.scrollTop - distance) < 0.001);
});

test("an empty list has no rows", () => {
  const list = new ScrollWindow(0, 36, VIEWPORT);
  list.scrollTo(0);
  assert.deepEqual([list.height, list.rows(10)], [0, [0, 0]]);
});
