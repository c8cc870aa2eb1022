import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { ceilingPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { grantCapacity, type StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

/** Zero is a price: what can cost nothing at most is served to who has nothing, and leaves a receipt like the rest. */
const FREE = "sim-free";
const IDENTITY: Address = "0x00000000000000000000000000000000000000f1";

export function testFreeModel(start: StartHost): void {
  describe("a model that costs nothing", () => {
    // It has no ceiling left.
    const host = hostFor(start, { fresh: true });
    before(() => host.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 0 }));

    const chat = (more: object = {}) => ({
      model: FREE,
      messages: [{ role: "user", content: "hello [[tokens=5]]" }],
      max_tokens: 20,
      ...more,
    });

    async function openSession(): Promise<string> {
      await grantCapacity(host, IDENTITY, 0);
      return host.openSession(IDENTITY);
    }

    test("a model that costs nothing is served without a balance, a limit's rest or a ceiling", async () => {
      const { key, address } = await host.account(0, { window: "day", limitNanoUsd: 0 });
      const whole = await host.call("/v1/chat/completions", { key, body: chat() });
      const text = await whole.text();
      assert.equal(whole.status, 200, text);
      assert.match(text, /"cost":0,"cost_nano_usd":0/);
      const streamed = await host.call("/v1/chat/completions", { key, body: chat({ stream: true }) });
      assert.match(await streamed.text(), /data: \[DONE\]/);
      const id = whole.headers.get("x-request-id");
      const receipt = await (await host.call(`/api/v1/generation?id=${id}`, { key })).json();
      const { outcome, basis, charge_nano_usd, tokens_completion } = (receipt as { data: Record<string, unknown> })
        .data;
      assert.deepEqual([outcome, basis, charge_nano_usd, tokens_completion], ["settled", "usage", 0, 5]);
      assert.deepEqual((await host.balance(address)).settledNanoUsd, 0);
      const ceiling = await host.read(ceilingPartition, { type: "ceiling", at: host.now() });
      assert.deepEqual([ceiling.settledNanoUsd, ceiling.heldNanoUsd], [0, 0]);
    });

    test("and to a session without a capacity", async () => {
      const key = await openSession();
      assert.equal((await host.call("/v1/chat/completions", { key, body: chat() })).status, 200);
    });

    test("the next model costs something, and is refused", async () => {
      const { key } = await host.account(0);
      for (const payer of [key, await openSession()]) {
        const answer = await host.call("/v1/chat/completions", { key: payer, body: chat({ model: "sim-large" }) });
        assert.equal(answer.status, 402);
      }
    });
  });
}
