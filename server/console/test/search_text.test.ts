import assert from "node:assert/strict";
import { test } from "node:test";
import { anywhere, columnOf, pastedAddress, readSearch } from "../src/views/subscribers/search_text.ts";

test("comparisons are expressions, and other texts begin an address or a name", () => {
  for (const filter of [
    "status = CONFIRMED",
    'NOT tags:"vip"',
    '(email:"acme" OR name:"ada")',
    "customFields.plan=pro",
    "createdAt > daysAgo(30)",
    '-tags:"vip"',
  ]) {
    assert.deepEqual(readSearch(` ${filter} `), { filter, q: "" });
  }
  for (const q of ["ada@example.com", "Ada Love", "o'hara", "a=b@example.com", "ada", "Müller"]) {
    assert.deepEqual(readSearch(q), { filter: "", q });
  }
});

test("a pasted address is found in its usual forms", () => {
  assert.equal(pastedAddress(" ada@example.com\n"), "ada@example.com");
  assert.equal(pastedAddress("Ada Lovelace <ada@example.com>"), "ada@example.com");
  assert.equal(pastedAddress("mailto:ada@example.com"), "ada@example.com");
  assert.equal(pastedAddress("two@example.com, three@example.com"), "");
  assert.equal(pastedAddress("some text"), "");
});

test("the column of an error is read from its message", () => {
  assert.equal(columnOf("needs a value after = (column 9)"), 9);
  assert.equal(columnOf("is too long"), 0);
});

test("each word is found anywhere in addresses and names, next to the filter", () => {
  const search = (q: string, filter = "") => anywhere({ filter, q });
  assert.equal(search("love"), '(email:"love" OR name:"love")');
  assert.equal(
    search(' a*"  @x.org ', "status = BOUNCED OR tagCount = 1"),
    '(status = BOUNCED OR tagCount = 1) AND (email:"a\\*\\"" OR name:"a\\*\\"") AND (email:"@x.org" OR name:"@x.org")',
  );
  assert.equal(search("ada@example.com"), "");
  assert.equal(search(" "), "");
});
