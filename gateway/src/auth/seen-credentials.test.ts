import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSeenCredentials } from "./seen-credentials.ts";

test("10,000 refused credentials are remembered, and of more the last ones", () => {
  const seen = makeSeenCredentials();
  seen.refuse("again");
  for (let digest = 0; digest < 9_999; digest++) seen.refuse(String(digest));
  seen.refuse("again");
  assert.ok(seen.isRefused("0"));
  seen.refuse("one more");
  assert.ok(seen.isRefused("again") && seen.isRefused("one more") && seen.isRefused("1"));
  assert.ok(!seen.isRefused("0"));
});

test("10,000 good ones are remembered too, and no credential is both", () => {
  const seen = makeSeenCredentials();
  assert.deepEqual([seen.isGood("one"), seen.isRefused("one")], [false, false], "before its partition was asked");
  seen.accept("one", 5);
  assert.deepEqual([seen.isGood("one"), seen.isRefused("one")], [true, false]);
  seen.refuse("one");
  assert.deepEqual([seen.isGood("one"), seen.isRefused("one")], [false, true]);
  seen.accept("one", 5);
  assert.deepEqual([seen.isGood("one"), seen.isRefused("one")], [true, false]);
  for (let digest = 0; digest < 9_999; digest++) seen.accept(String(digest), 5);
  assert.ok(seen.isGood("one"));
  seen.accept("one more", 5);
  assert.ok(!seen.isGood("one") && seen.isGood("0") && seen.isGood("one more"));
});

test("a credential was good since the last time that its partition said so, and not once it was refused", () => {
  const seen = makeSeenCredentials();
  assert.equal(seen.wasGoodSince("one", 0), false);
  seen.accept("one", 50);
  // The end of a request that began earlier.
  seen.accept("one", 40);
  assert.deepEqual([seen.wasGoodSince("one", 50), seen.wasGoodSince("one", 51)], [true, false]);
  seen.refuse("one");
  assert.equal(seen.wasGoodSince("one", 0), false);
});
