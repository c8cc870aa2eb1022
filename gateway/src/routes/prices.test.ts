import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { pricesAnswer } from "@inference/protocol/wire/answers";
import { openFixture } from "../../test/identity-fixture.ts";

test("the prices in force are published under their digest, and those that are gone are not found", async () => {
  const fixture = openFixture();
  const { id } = await fixture.gateway.prices.refresh();
  const { status, text } = await fixture.call("GET", `/api/v1/prices/${id}`);
  assert.equal(status, 200);
  assert.ok(createHash("sha256").update(text).digest("hex").startsWith(id));
  assert.ok(pricesAnswer.parse(JSON.parse(text)).data.length > 0);
  const { status: gone, body } = await fixture.call("GET", `/api/v1/prices/${"0".repeat(32)}`);
  assert.deepEqual([gone, body.error?.code], [404, "not_found"]);
});

test("an id that is none is said to be none", async () => {
  const fixture = openFixture();
  for (const id of ["x", "0".repeat(31), "A".repeat(32), "0".repeat(33), "%20"]) {
    const { status, body } = await fixture.call("GET", `/api/v1/prices/${id}`);
    assert.deepEqual([status, body.error?.code], [400, "invalid_request"], id);
  }
});
