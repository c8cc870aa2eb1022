import assert from "node:assert/strict";
import { test } from "node:test";
import { agentPartition } from "@inference/ledger/partition";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import { makeSemaphore } from "../load/semaphore.ts";
import { makeOpenOffers } from "./open-offers.ts";

const MINUTE = 60_000;
const owner: Address = "0x00000000000000000000000000000000000000dd";
const agentOf = (place: number): Address => `0x${String(place).padStart(40, "a")}`;

/** A list over agents that each sell all of 100 nano-dollars, with what of it is sold. */
async function open(sold: readonly number[]) {
  const fixture = openFixture();
  const { ledger, time, chain } = fixture;
  const { config, environment } = fixture.gateway;
  chain.agentSeller = async () => ({ owner, computer: owner });
  const setCapacity = (agent: Address, at: number) =>
    ledger.apply(agentPartition(agent), { type: "setCapacity", at, limitNanoUsd: 100 });
  for (const [place, amountNanoUsd] of sold.entries()) {
    const partition = agentPartition(agentOf(place));
    const terms = { hash: "h", day: 0, shareBps: 10_000, nonce: 1, computer: owner, owner };
    setCapacity(agentOf(place), NOW);
    ledger.apply(partition, { type: "setOffer", at: NOW, ...terms });
    const sums = { usedNanoUsd: 0, leastNanoUsd: 0, neededNanoUsd: amountNanoUsd, wantedNanoUsd: amountNanoUsd };
    const sale = { account: "account:a", day: windowStart("day", NOW), askedAt: NOW, ...sums, offer: "h" };
    ledger.apply(partition, { type: "allow", ...sale });
    fixture.keyValue.set(`offer:${agentOf(place)}`, { value: "", expiresAt: undefined });
  }
  const reopen = () =>
    makeOpenOffers({ upstream: { ...config.upstream, adminKey: "admin" } }, environment, {
      keyRecords: {
        async keyFor({ agentToken }, at) {
          await chain.capacityToday(owner);
          // As `KeyRecords` for an identity without capacity.
          if (agentToken?.startsWith("0x0")) return config.upstream.apiKey;
          setCapacity(agentToken ?? owner, at);
          return `key of ${agentToken}`;
        },
      },
      chainReads: makeSemaphore({ atOnce: 64 }, "readings"),
    });
  const offers = reopen();
  await offers.refresh();
  const choose = (amountNanoUsd: number) => offers.choose(amountNanoUsd, time.now).map(({ agent }) => agent);
  return { ...fixture, offers, reopen, choose };
}

test("the largest unsold share is first, two at most, and none that is too small or free", async () => {
  const { choose } = await open([40, 10, 90, 0]);
  assert.deepEqual(choose(10), [agentOf(3), agentOf(1)]);
  assert.deepEqual(choose(95), [agentOf(3)]);
  assert.deepEqual(choose(101), []);
  assert.deepEqual(choose(0), []);
});

test("what is held of an offer is not chosen again, what it did not use is, and who refused waits for the next refresh", async () => {
  const { offers, choose } = await open([0, 10]);
  const [first, second] = offers.choose(60, NOW);
  assert.ok(first !== undefined && second !== undefined);
  offers.asked([first, second], first, 60);
  assert.deepEqual(choose(60), [agentOf(1)]);
  offers.ended(first, 50);
  assert.deepEqual(choose(60), [agentOf(0), agentOf(1)]);
  offers.asked([first, second], second, 60);
  assert.deepEqual(choose(1), [agentOf(1)]);
  await offers.refresh();
  assert.deepEqual(choose(60), [agentOf(0), agentOf(1)]);
});

test("an agent whose key failed is not asked for a minute, also after a refresh", async () => {
  const { offers, choose, time } = await open([0]);
  const [offer] = offers.choose(1, NOW);
  assert.ok(offer !== undefined);
  offers.failed(offer);
  await offers.refresh();
  assert.deepEqual(choose(1), []);
  time.now += MINUTE;
  assert.deepEqual(choose(1), [agentOf(0)]);
});

test("while the chain does not answer an offer is listed for ten minutes, and never on another day", async () => {
  const { offers, choose, chain, time } = await open([0]);
  chain.agentSeller = async () => {
    throw new ChainUnavailable("no node");
  };
  time.now += 9 * MINUTE;
  await offers.refresh();
  assert.deepEqual(choose(1), [agentOf(0)]);
  time.now += MINUTE;
  await offers.refresh();
  assert.deepEqual(choose(1), []);
  const late = await open([0]);
  late.time.now = NOW - (NOW % DAY_MS) + DAY_MS;
  assert.deepEqual(late.choose(1), []);
  assert.deepEqual(late.offers.choose(1, NOW), [], "a request that arrived before midnight");
});

test("64 agents are listed, and no more", async () => {
  const { offers } = await open(Array.from({ length: 70 }, () => 0));
  const chosen = new Set<Address>();
  for (let agents = offers.choose(1, NOW); agents.length > 0; agents = offers.choose(1, NOW)) {
    for (const offer of agents) chosen.add(offer.agent);
    offers.asked(agents, null, 1);
  }
  assert.equal(chosen.size, 64);
  // The last in the order of names.
  await offers.changed(agentOf(9));
  assert.deepEqual(offers.choose(1, NOW), []);
});

test("a gateway without a key that makes keys sells nothing", async () => {
  const { gateway, keyValue } = openFixture();
  keyValue.set(`offer:${agentOf(0)}`, { value: "", expiresAt: undefined });
  await gateway.openOffers.refresh();
  assert.deepEqual(gateway.openOffers.choose(1, NOW), []);
});

test("a name without an offer in force leaves the list", async () => {
  const { offers, keyValue, ledger } = await open([0, 0]);
  ledger.apply(agentPartition(agentOf(0)), { type: "endOffer", at: NOW, hash: "h" });
  await offers.refresh();
  assert.deepEqual([...keyValue.keys()], [`offer:${agentOf(1)}`]);
});

test("agents without capacity do not keep others out of the list", async () => {
  const { offers, reopen, keyValue, ledger } = await open([0]);
  for (let place = 0; place < 200; place++) {
    // Anybody creates agents, and chooses their addresses by the constructor's arguments.
    const empty: Address = `0x${String(place).padStart(40, "0")}`;
    const terms = { hash: "h", day: 0, shareBps: 10_000, nonce: 1, computer: owner, owner };
    ledger.apply(agentPartition(empty), { type: "setOffer", at: NOW, ...terms });
    keyValue.set(`offer:${empty}`, { value: "", expiresAt: undefined });
  }
  const another = reopen();
  for (let refreshes = 0; refreshes < 4; refreshes++) await another.refresh();
  for (const list of [offers, another]) {
    await list.refresh();
    assert.deepEqual(
      list.choose(1, NOW).map(({ agent }) => agent),
      [agentOf(0)],
      "the only agent with stake",
    );
  }
});
