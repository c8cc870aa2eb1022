import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../identity/testing/identity-fixture.ts";

test("a model is found by its id, a slash in it included, as it is and encoded", async () => {
  const fixture = openFixture();
  await fixture.gateway.prices.refresh();
  for (const [path, id] of [
    ["voice", "voice"],
    ["vendor/voice", "vendor/voice"],
    ["vendor%2Fvoice", "vendor/voice"],
  ]) {
    for (const prefix of ["/v1", "/api/v1"]) {
      const { status, text } = await fixture.call("GET", `${prefix}/models/${path}`);
      assert.deepEqual([status, (JSON.parse(text) as { id: string }).id], [200, id]);
    }
  }
});

test("an id that no model has is a model not found, however many slashes it has", async () => {
  const fixture = openFixture();
  await fixture.gateway.prices.refresh();
  for (const id of ["nobody", "vendor", "vendor/", "vendor/voice/x", "voice/vendor"]) {
    const { status, body } = await fixture.call("GET", `/v1/models/${id}`);
    assert.deepEqual([status, body.error?.code], [404, "model_not_found"], id);
  }
});
