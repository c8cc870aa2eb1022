import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { limits } from "@inference/gateway/config";
import { type Stack, startStack } from "./testing/stack.ts";

let stack: Stack;
let nowMs = Date.now();
before(async () => {
  stack = await startStack({ now: () => nowMs });
});
after(() => stack?.stop());
beforeEach(async () => {
  nowMs += 2 * limits.catalogueMaxAgeMs;
  await fetch(`${stack.simulator.controlUrl}/reset`, { method: "POST" });
  await stack.gateway.prices.refresh();
});

const read = async (path: string) => (await stack.call(path)).json() as Promise<{ type: string; data: object }>;
const configure = (config: object) =>
  fetch(`${stack.simulator.controlUrl}/config`, { method: "POST", body: JSON.stringify(config) });
/** How often the provider was asked for what it was made to refuse. */
const refusals = () => stack.logged.filter(({ event }) => event === "catalogue_read_failed").length;
const refuse = (path: string, fault: string, times: number) => configure({ faults: { [path]: { fault, times } } });
const errorAt = async (path: string, key?: string) => {
  const answer = await stack.call(path, key === undefined ? {} : { key });
  return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code];
};

test("traits, names of others' models and styles are the provider's, under both prefixes, for anyone", async () => {
  for (const prefix of ["/v1", "/api/v1"]) {
    const traits = await read(`${prefix}/models/traits`);
    assert.deepEqual(traits, {
      object: "list",
      type: "text",
      data: {
        default: "sim-large",
        fastest: "sim-small",
        default_code: "sim-code",
        default_reasoning: "sim-reasoning",
      },
    });
    const names = await read(`${prefix}/models/compatibility_mapping?type=embedding`);
    assert.deepEqual([names.type, names.data], ["embedding", { "text-embedding-ada-002": "sim-embedding" }]);
    const styles = await read(`${prefix}/image/styles`);
    assert.ok(Array.isArray(styles.data) && styles.data.includes("Anime"), JSON.stringify(styles));
  }
});

test("a name stands for nothing if its model cannot be had here", async () => {
  await configure({ listed: { "sim-small": false } });
  await stack.gateway.prices.refresh();
  const { data } = await read("/v1/models/traits");
  assert.ok("default" in data && !("fastest" in data), JSON.stringify(data));
});

test("whoever asks again within five minutes asks us and not the provider", async () => {
  const [first] = await Promise.all(Array.from({ length: 20 }, () => read("/v1/models/traits")));
  await refuse("/models/traits", "503", 1_000);
  const before = refusals();
  nowMs += limits.catalogueRefreshMs - 1;
  assert.deepEqual(await read("/v1/models/traits"), first);
  assert.equal(refusals(), before);
  nowMs += 1;
  await Promise.all(Array.from({ length: 20 }, () => read("/v1/models/traits")));
  assert.equal(refusals(), before + 1, "once for all who asked");
});

test("while the provider does not tell, the last answer serves for fifteen minutes, and no longer", async () => {
  const { data } = await read("/v1/image/styles");
  await refuse("/image/styles", "503", 1_000);
  nowMs += limits.catalogueMaxAgeMs;
  assert.deepEqual((await read("/v1/image/styles")).data, data);
  nowMs += limits.catalogueRefreshMs;
  assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
});

test("a list that the provider does not tell, and never told, is asked for every ten seconds and no more often", async () => {
  await refuse("/image/styles", "503", 2);
  const before = refusals();
  nowMs += limits.catalogueMaxAgeMs;
  for (let left = 5; left > 0; left--) {
    assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
  }
  assert.equal(refusals(), before + 1);
  assert.equal((await stack.call("/v1/models/traits")).status, 200, "another list is told");
  nowMs += limits.goneModelRefreshMs - 1;
  assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
  assert.equal(refusals(), before + 1);
  nowMs += 1;
  assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
  assert.equal(refusals(), before + 2);
  nowMs += limits.goneModelRefreshMs;
  assert.equal((await stack.call("/v1/image/styles")).status, 200);
});

test("a list that the provider does not have is not found, and what is no list is not shown", async () => {
  await refuse("/models/traits", "404", 1);
  assert.deepEqual(await errorAt("/v1/models/traits"), [404, "not_found"]);
  await refuse("/image/styles", "html-200", 1);
  assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
});

test("a kind of model that nobody serves, a parameter that there is not and a bad key are refused first", async () => {
  await refuse("/models/traits", "503", 1_000);
  const before = refusals();
  for (const [query, code] of [
    ["type=video", "invalid_request"],
    ["type=", "invalid_request"],
    ["kind=text", "unsupported_parameter"],
  ]) {
    assert.deepEqual(await errorAt(`/v1/models/traits?${query}`), [400, code], query);
  }
  assert.deepEqual(await errorAt("/v1/models/traits", "ik_wrong"), [401, "invalid_api_key"]);
  assert.deepEqual(await errorAt("/v1/image/styles", "ik_wrong"), [401, "invalid_api_key"]);
  assert.equal(refusals(), before);
});
