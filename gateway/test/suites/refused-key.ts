import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/config.ts";
import type { HostUnderTest, StartHost } from "../host.ts";
import { chatBody, makeTag, USD } from "../settlement/pay.ts";

type Health = { status: string; checks: { provider: string }; action?: string };

/** The health of a gateway whose key the provider refuses, for every host. */
export function testRefusedKey(start: StartHost): void {
  test("a key that the provider refuses shows in the health without a request, and what to do about it", () =>
    withHost(start, async (host) => {
      host.simulator.simulator.keys.remove("key-master");
      const { code, health, text } = await readHealth(host);
      assert.deepEqual([code, health.status, health.checks.provider], [200, "degraded", "refused"], text);
      assert.match(health.action ?? "", /UPSTREAM_API_KEY \(401\)/);
      assert.ok(!text.includes(host.simulator.simulator.masterKey));
    }));

  test("a key that is refused amid its work shows in the health, until a request succeeds", () =>
    withHost(start, async (host) => {
      const { keys } = host.simulator.simulator;
      const { key } = await host.account(USD);
      const ask = async () => {
        const body = chatBody("sim-small", "[[tokens=2]]")(makeTag());
        const response = await host.call("/v1/chat/completions", { key, body });
        await response.text();
        return response.status;
      };
      assert.equal((await readHealth(host)).health.checks.provider, "ok");
      keys.remove("key-master");
      assert.equal(await ask(), 503);
      assert.equal((await readHealth(host)).health.checks.provider, "refused");
      keys.reset();
      assert.equal(await ask(), 200);
      assert.equal((await readHealth(host)).health.checks.provider, "ok");
      // The provider is asked again after a while.
      await host.goTo(host.now() + limits.keyCheckMs);
      Object.assign(keys.find("key-master") ?? {}, { consumptionLimit: { usd: 0, diem: 0 } });
      assert.equal(await ask(), 503);
      const { health, text } = await readHealth(host);
      assert.equal(health.checks.provider, "refused", text);
      assert.match(health.action ?? "", /cannot pay \(402\)/);
    }));
}

async function readHealth({ url }: HostUnderTest): Promise<{ code: number; health: Health; text: string }> {
  const response = await fetch(`${url}/healthz`);
  const text = await response.text();
  return { code: response.status, health: JSON.parse(text) as Health, text };
}

async function withHost(start: StartHost, work: (host: HostUnderTest) => Promise<void>): Promise<void> {
  // Nothing is known of its key yet.
  const host = await start({ fresh: true });
  try {
    await work(host);
  } finally {
    await host.stop();
  }
}
