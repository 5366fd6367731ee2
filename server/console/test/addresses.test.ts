import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesIn } from "../src/views/suppressions/addresses.ts";

test("addresses are separated by lines, commas and semicolons, and counted once", () => {
  assert.deepEqual(addressesIn(" a@x.org\nb@x.org;c@x.org, a@x.org\n\n"), ["a@x.org", "b@x.org", "c@x.org"]);
  assert.deepEqual(addressesIn('"a@x.org","b@x.org"'), ["a@x.org", "b@x.org"]);
  assert.deepEqual(addressesIn(" \n "), []);
});

test("names of a mail program are not addresses", () => {
  assert.deepEqual(addressesIn("Ada Lovelace <ada@x.org>, Bob <bob@x.org>"), ["ada@x.org", "bob@x.org"]);
  assert.deepEqual(addressesIn('"Lovelace, Ada" <ada@x.org>'), ["ada@x.org"]);
  assert.deepEqual(addressesIn("ada@x.org Bob <bob@x.org>"), ["ada@x.org", "bob@x.org"]);
});

test("one address with a name does not hide those without", () => {
  const text = "a@x.org\nAda Lovelace <ada@x.org>\nb@x.org, <c@x.org>\nAda <x>\n";
  assert.deepEqual(addressesIn(text), ["a@x.org", "ada@x.org", "b@x.org", "c@x.org", "Ada <x>"]);
});

test("what is no address stays, so that the server reports it", () => {
  assert.deepEqual(addressesIn("a@x.org nonsense"), ["a@x.org", "nonsense"]);
});
