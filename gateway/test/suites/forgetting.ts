import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { accountPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import { tableNames } from "@inference/ledger/schema";
import type { Address } from "@inference/protocol/credential";
import { activate } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

/** Rows that cost nothing to create are eventually deleted. */
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export function testForgetting(start: StartHost): void {
  describe("what anybody can have written down at no cost is gone some day", () => {
    const host = hostFor(start);

    const anybody = (): Address => `0x${randomBytes(20).toString("hex")}`;

    const pass = (ms: number) => host.goTo(host.now() + ms);

    async function answer(path: string, key: string): Promise<[number, string | undefined]> {
      const response = await host.call(path, { key });
      const { error } = (await response.json()) as { error?: { code: string } };
      return [response.status, error?.code];
    }

    async function rowsOf(partition: Partition): Promise<unknown[]> {
      return (await Promise.all(tableNames.map((table) => host.rows(table, partition)))).flat();
    }

    test("of a wallet that never activated nothing is left after nine days, and its key is none that is known", async () => {
      const [stranger, late] = [anybody(), anybody()];
      const partitions = [accountPartition(stranger), accountPartition(late)];
      const terms = { window: "day", limitNanoUsd: 1_000_000 } as const;
      const keys = await Promise.all(
        [stranger, stranger, late].map(async (address) => (await host.addKey(address, terms)).key),
      );
      await pass(9 * DAY_MS - MINUTE_MS);
      await host.forget(partitions);
      for (const key of keys) assert.deepEqual(await answer("/api/v1/key", key), [200, undefined]);
      await activate(host.put, late, 1);
      await pass(DAY_MS + 2 * MINUTE_MS);
      await host.forget(partitions);
      assert.deepEqual(await rowsOf(accountPartition(stranger)), []);
      const answers = await Promise.all(keys.map((key) => answer("/api/v1/key", key)));
      assert.deepEqual(answers, [
        [401, "invalid_api_key"],
        [401, "invalid_api_key"],
        [200, undefined],
      ]);
    });

    test("a key that expired says so for two days, and is forgotten then", async () => {
      const { address } = await host.account(1_000_000);
      const partition = accountPartition(address);
      const { key } = await host.addKey(address, { window: "day", limitNanoUsd: 1, expiresAt: host.now() + DAY_MS });
      const before = (await rowsOf(partition)).length;
      await pass(3 * DAY_MS - MINUTE_MS);
      await host.forget([partition]);
      assert.deepEqual(await answer("/api/v1/key", key), [401, "key_expired"]);
      await pass(DAY_MS + 2 * MINUTE_MS);
      await host.forget([partition]);
      assert.deepEqual(await answer("/api/v1/key", key), [401, "invalid_api_key"]);
      // The key and its secret, and both keys' nonces.
      assert.equal((await rowsOf(partition)).length, before - 4);
    });

    test("of an identity that only asked what it has nothing is left", async () => {
      const address = anybody();
      const partition = identityPartition(address);
      await host.openSession(address, { expiresAt: host.now() + DAY_MS });
      for (const wait of [0, DAY_MS - MINUTE_MS]) {
        await pass(wait);
        await host.put(partition, { type: "setCapacity", at: host.now(), limitNanoUsd: 0 });
      }
      // The first day's row is deleted with the second's, unless that day has just ended.
      assert.ok((await host.rows("budget", partition)).length > 0, "the day's capacity");
      await pass(3 * DAY_MS + 2 * MINUTE_MS);
      await host.forget([partition]);
      assert.deepEqual(await rowsOf(partition), []);
    });
  });
}
