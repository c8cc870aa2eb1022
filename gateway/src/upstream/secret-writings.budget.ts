import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeSecretFilter } from "./secret-writings.ts";

const aKey = (): string => `sk-${randomBytes(24).toString("base64url")}`;
const filter = makeSecretFilter([aKey()]);

test("a text of backslashes or percent signs takes no longer than another", () => {
  for (const repeated of ["\\", "%25", "%", "\\u0026", "\\\\\\\\\\\\\\\\u0056", "\\/"]) {
    const text = repeated.repeat(200_000 / repeated.length);
    const before = process.threadCpuUsage();
    assert.equal(filter.isIn(text), false);
    assert.equal(filter.remove(text), text);
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 200_000, `${repeated}: ${(user + system) / 1_000} ms`);
  }
});

test("each of a thousand customers may have a key of its own", () => {
  const before = process.threadCpuUsage();
  for (let keys = 0; keys < 1_000; keys++) {
    const own = makeSecretFilter([aKey(), aKey()]);
    for (const text of ["a", "\\u0041"]) assert.equal(own.isIn(text), false);
  }
  const { user, system } = process.threadCpuUsage(before);
  assert.ok(user + system < 1_000_000, `${(user + system) / 1_000} ms`);
});
