import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { limits } from "../../src/config.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

export function testCatalogueReads(start: StartHost): void {
  describe("lists that are read from the provider", () => {
    const host = hostFor(start);
    beforeEach(async () => {
      host.simulator.simulator.reset();
      await pass(2 * limits.catalogueMaxAgeMs);
    });

    /** A little more, and a little less, is as much: the clock goes on. */
    const SOON_MS = 5_000;
    const pass = (ms: number) => host.goTo(host.now() + ms);
    const read = async (path: string) => (await host.call(path)).json() as Promise<{ type: string; data: object }>;
    const configure = (config: object) =>
      fetch(`${host.simulator.controlUrl}/config`, { method: "POST", body: JSON.stringify(config) });
    /** How often the provider was asked for one of its lists. */
    const readsOf = (path: string) =>
      host.simulator.simulator.records.select((record) => record.path.endsWith(path), 1_000).length;
    const refuse = (path: string, fault: string, times: number) => configure({ faults: { [path]: { fault, times } } });
    const errorAt = async (path: string, key?: string) => {
      const answer = await host.call(path, key === undefined ? {} : { key });
      return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code];
    };

    test("traits, names of others' models and styles are the provider's, under both prefixes, for anyone", async () => {
      for (const prefix of ["/v1", "/api/v1"]) {
        const traits = await read(`${prefix}/models/traits`);
        assert.deepEqual(traits, {
          object: "list",
          type: "text",
          data: {
            default: "alder-120b",
            fastest: "alder-4b",
            default_code: "corrie-code-32b",
            default_reasoning: "tarn-reason-70b",
          },
        });
        const names = await read(`${prefix}/models/compatibility_mapping?type=embedding`);
        assert.deepEqual([names.type, names.data], ["embedding", { "text-embedding-ada-002": "hawthorn-embed" }]);
        const styles = await read(`${prefix}/image/styles`);
        assert.ok(Array.isArray(styles.data) && styles.data.includes("Anime"), JSON.stringify(styles));
      }
    });

    test("a name stands for nothing if its model cannot be had here", async () => {
      await configure({ listed: { "alder-4b": false } });
      await pass(2 * limits.catalogueMaxAgeMs);
      const { data } = await read("/v1/models/traits");
      assert.ok("default" in data && !("fastest" in data), JSON.stringify(data));
    });

    test("whoever asks again within five minutes asks us and not the provider", async () => {
      const [first] = await Promise.all(Array.from({ length: 20 }, () => read("/v1/models/traits")));
      await refuse("/models/traits", "503", 1_000);
      assert.equal(readsOf("/models/traits"), 1, "once for all who asked");
      await pass(limits.catalogueRefreshMs - SOON_MS);
      assert.deepEqual(await read("/v1/models/traits"), first);
      assert.equal(readsOf("/models/traits"), 1);
      await pass(SOON_MS);
      await Promise.all(Array.from({ length: 20 }, () => read("/v1/models/traits")));
      assert.equal(readsOf("/models/traits"), 2, "once for all who asked");
    });

    test("while the provider does not tell, the last answer serves for fifteen minutes, and no longer", async () => {
      const { data } = await read("/v1/image/styles");
      await refuse("/image/styles", "503", 1_000);
      await pass(limits.catalogueMaxAgeMs - SOON_MS);
      assert.deepEqual((await read("/v1/image/styles")).data, data);
      await pass(limits.catalogueRefreshMs);
      assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
    });

    test("a list that the provider does not tell, and never told, is asked for every ten seconds and no more often", async () => {
      await refuse("/image/styles", "503", 2);
      for (let left = 5; left > 0; left--) {
        assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
      }
      assert.equal(readsOf("/image/styles"), 1);
      assert.equal((await host.call("/v1/models/traits")).status, 200, "another list is told");
      await pass(limits.goneModelRefreshMs - SOON_MS);
      assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
      assert.equal(readsOf("/image/styles"), 1);
      await pass(SOON_MS);
      assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
      assert.equal(readsOf("/image/styles"), 2);
      await pass(limits.goneModelRefreshMs);
      assert.equal((await host.call("/v1/image/styles")).status, 200);
    });

    test("a list that the provider does not have is not found, and what is no list is not shown", async () => {
      await refuse("/models/traits", "404", 1);
      assert.deepEqual(await errorAt("/v1/models/traits"), [404, "not_found"]);
      await refuse("/image/styles", "html-200", 1);
      assert.deepEqual(await errorAt("/v1/image/styles"), [503, "upstream_unavailable"]);
    });

    test("a kind of model that nobody serves, a parameter that there is not and a bad key are refused first", async () => {
      for (const [query, code] of [
        ["type=video", "invalid_request"],
        ["type=", "invalid_request"],
        ["kind=text", "unsupported_parameter"],
      ]) {
        assert.deepEqual(await errorAt(`/v1/models/traits?${query}`), [400, code], query);
      }
      assert.deepEqual(await errorAt("/v1/models/traits", "ik_wrong"), [401, "invalid_api_key"]);
      assert.deepEqual(await errorAt("/v1/image/styles", "ik_wrong"), [401, "invalid_api_key"]);
      assert.deepEqual([readsOf("/models/traits"), readsOf("/image/styles")], [0, 0]);
    });
  });
}
