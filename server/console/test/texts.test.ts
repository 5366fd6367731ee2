import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fill, placeholders } from "../src/fill.ts";

function texts(language: string): Record<string, string> {
  return JSON.parse(readFileSync(new URL(`../texts/${language}.json`, import.meta.url), "utf8"));
}

const en = texts("en");
const de = texts("de");

test("both languages have the same keys, in order", () => {
  assert.deepEqual(Object.keys(de), Object.keys(en));
  assert.deepEqual(Object.keys(en), Object.keys(en).toSorted(compare));
});

test("both languages have the same placeholders, and no text is empty", () => {
  for (const [key, text] of Object.entries(en)) {
    assert.notEqual(de[key]?.trim(), "", key);
    assert.deepEqual(placeholders(de[key] ?? ""), placeholders(text), key);
  }
});

test("each text is used", () => {
  const root = new URL("../src/", import.meta.url);
  const source = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && name !== "api/types.ts")
    .map((name) => readFileSync(new URL(name, root), "utf8"))
    .join("\n");
  const literals = new Set(Array.from(source.matchAll(/"([\w.]+)"/g), ([, text]) => text));
  // Keys with values in them, such as `webhook.${reason}` and named("status", status).
  const templates = Array.from(source.matchAll(/`(\w[\w.]*\.)\$\{[^`]*?\}`|named\("([\w.]+)"/g));
  const groups = templates.map(([, template, group]) => template ?? `${group}.`);
  const unused = Object.keys(en).filter((key) => {
    const stem = key.replace(/\.(one|other)$/, "");
    return !literals.has(key) && !literals.has(stem) && !groups.some((group) => key.startsWith(group));
  });
  assert.deepEqual(unused, []);
});

test("values replace placeholders and are not read again", () => {
  assert.deepEqual(fill("{a} and {b}.", { a: "{b}", b: 2 }), ["{b}", " and ", 2, "."]);
  assert.deepEqual(fill("{unknown}", {}), ["{unknown}"]);
});

function compare(a: string, b: string): number {
  return a.toLowerCase() < b.toLowerCase() ? -1 : 1;
}
