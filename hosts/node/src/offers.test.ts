import assert from "node:assert/strict";
import { test } from "node:test";
import { chatBody, makeTag, USD } from "@inference/gateway/test/settlement/pay";
import { agentTokens, CAPACITY_NANO_USD, type Seller, testOffers } from "@inference/gateway/test/suites/offers";
import { agentPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { offerTypedData } from "@inference/protocol/offer";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, dayNumber, windowStart } from "@inference/protocol/window";
import { generationAnswer } from "@inference/protocol/wire/answers";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { startStack } from "./testing/stack.ts";

/** The provider's simulator gives every agent a key of its own; the chain is what the test says. */
testOffers(async () => {
  let seller: Seller | null = null;
  const host = await startStack({
    subKeys: true,
    chain: {
      agentSeller: async () => seller,
      agentOwner: async () => seller?.owner ?? null,
      capacityToday: async () => ({ capacityNanoUsd: CAPACITY_NANO_USD, at: host.now() }),
    },
  });
  return {
    host,
    settlement: host.gateway.config.settlement,
    async setSeller(next) {
      seller = next;
    },
    stop: host.stop,
  };
});

test("at midnight a standing offer starts again from zero, and an offer for one day ends", async () => {
  const midnight = windowStart("day", Date.now()) + 2 * DAY_MS;
  let now = midnight - 5_000;
  const computer = privateKeyToAccount(generatePrivateKey());
  const seller = { owner: `0x${"d".repeat(40)}`, computer: computer.address } as const;
  await using host = await startStack({
    subKeys: true,
    now: () => now,
    chain: {
      agentSeller: async () => seller,
      capacityToday: async () => ({ capacityNanoUsd: now < midnight ? CAPACITY_NANO_USD : USD, at: now }),
    },
  });
  const [standing = "0x", daily = "0x"] = agentTokens;
  const { settlement } = host.gateway.config;
  const sell = async (agentToken: Address, day: number, shareBps: number) => {
    const offer = { agentToken, day, shareBps, nonce: 1 };
    const signature = await computer.signTypedData(offerTypedData(settlement, offer));
    const body = { day, share_bps: shareBps, nonce: 1, signature };
    const path = `/api/v1/agents/${agentToken}/offer`;
    assert.equal((await host.call(path, { method: "PUT", body })).status, 200);
  };
  await sell(standing, 0, 5_000);
  const { key } = await host.account(USD);
  const servedBy = async () => {
    const body = chatBody("sim-small", "[[tokens=2]]")(makeTag());
    const response = await host.call("/v1/chat/completions", { key, body });
    await response.text();
    const id = response.headers.get("x-request-id");
    const receipt = await host.call(`/api/v1/generation?id=${id}`, { key });
    return generationAnswer.parse(await receipt.json()).data.served_by;
  };
  const view = (agent: Address) => host.read(agentPartition(agent), { type: "offer", at: now });
  assert.equal(await servedBy(), standing);
  await sell(daily, dayNumber(now), 10_000);
  assert.ok((await view(standing)).soldNanoUsd > 0);
  now = midnight;
  assert.equal((await view(standing)).leftNanoUsd, 0);
  assert.equal(await servedBy(), "protocol", "what is known is of yesterday");
  await eventually(async () => (await view(standing)).limitNanoUsd === USD / 2);
  assert.equal((await view(standing)).soldNanoUsd, 0);
  await eventually(async () => (await servedBy()) === standing);
  assert.deepEqual([(await view(daily)).isInForce, (await view(daily)).leftNanoUsd], [false, 0]);
});
