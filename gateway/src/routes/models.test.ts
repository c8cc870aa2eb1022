import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../test/identity-fixture.ts";

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

test("an alias is listed, and read, as the model that it stands for; one of no model that is served is not", async () => {
  const fixture = openFixture();
  await fixture.gateway.prices.refresh();
  const { upstream } = fixture.gateway.config;
  upstream.aliases = { narrator: ["vendor/voice"], voice: ["vendor/voice"], lost: ["nobody", "voice"] };
  const { text } = await fixture.call("GET", "/v1/models");
  const { data } = JSON.parse(text) as { data: { id: string; alias_of?: string; pricing: unknown }[] };
  assert.deepEqual(
    data.map(({ id, alias_of }) => [id, alias_of]),
    [
      ["vendor/voice", undefined],
      ["narrator", "vendor/voice"],
      ["voice", "vendor/voice"],
    ],
  );
  assert.deepEqual(data[1]?.pricing, data[0]?.pricing);
  const one = await fixture.call("GET", "/v1/models/narrator");
  assert.deepEqual(JSON.parse(one.text), data[1]);
  const lost = await fixture.call("GET", "/v1/models/lost");
  assert.deepEqual([lost.status, lost.body.error?.code], [404, "model_not_found"]);
});

test("of those who ask for the list at once, the first has it written for all", async () => {
  const fixture = openFixture();
  const { gateway } = fixture;
  await gateway.prices.refresh();
  const { models } = gateway.prices.current();
  let written = 0;
  const keys = models.keys.bind(models);
  (models as Map<string, unknown>).keys = () => {
    written += 1;
    return keys();
  };
  const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.call("GET", "/v1/models")));
  assert.ok(answers.every(({ status, text }) => status === 200 && text === answers[0]?.text));
  assert.equal(written, 1);
});
