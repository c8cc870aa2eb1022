import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { TestAccount } from "@inference/gateway/test/fund";
import { hostFor } from "@inference/gateway/test/host-for";
import { billed, checkSums, providerRecords, settledOf, sum } from "@inference/gateway/test/settlement/audit";
import { openChatStream } from "@inference/gateway/test/settlement/chat-stream";
import { assertBilledExactly, chatBody, makeTag, paidFor, pay, USD } from "@inference/gateway/test/settlement/pay";
import type { CommandType } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { startEdge } from "./testing/edge.ts";
import type { Eviction, Moment } from "./testing/evicting-worker.ts";
import { hold } from "./testing/hold.ts";
import { endHolds } from "./testing/open-holds.ts";

/**
 * Objects are evicted whenever the runtime wants to: here at each step of a request's life, before it, once it is
 * written, and once it is durable. `reserve` binds account and key in one commit, `allow` asks the ceiling.
 */
const moments: Moment[] = ["before", "unsaved", "saved"];
const isDeep = process.env.DEEP === "1";
/** Outside the deep run a stream meets all of them, and the rest one. */
const someMoments: Moment[] = isDeep ? moments : ["unsaved"];
const steps: CommandType[] = ["reserve", "allow", "checkpoint", "settle"];
const evicted: Record<string, number> = {};

const entry = new URL("testing/evicting-worker.ts", import.meta.url);
const edge = hostFor(() => startEdge({}, { entry, ceilingNanoUsd: 1_000_000_000_000 }));
before(async () => {
  // The last try comes 2 s after the first, and not 25.
  await edge.set({ hurry: 12 });
});

async function evictAt(eviction: Eviction): Promise<{ over(): Promise<number> }> {
  const tell = async (next: Eviction): Promise<number> => {
    const response = await fetch(`${edge.url}/__evict`, { method: "POST", body: JSON.stringify(next) });
    return (await response.json()) as number;
  };
  await tell(eviction);
  return {
    async over() {
      const times = eviction.times - (await tell({ ...eviction, times: 0 }));
      const name = `${eviction.step}, ${eviction.moment}`;
      evicted[name] = (evicted[name] ?? 0) + times;
      return times;
    },
  };
}

for (const stream of isDeep ? [true, false] : [true]) {
  for (const step of steps) {
    for (const moment of moments) {
      if (step === "checkpoint" && !stream) continue;
      test(`${stream ? "a stream" : "a whole answer"} does not notice an eviction at ${step}, ${moment}`, async () => {
        const { over } = await evictAt({ step, moment, times: 1 });
        const paid = await pay(edge, "/v1/chat/completions", chatBody("sim-small", "[[tokens=5]]", { stream }));
        assert.equal(await over(), 1);
        assert.equal(paid.status, 200, paid.text);
        assertBilledExactly(paid);
      });
    }
  }
}
test("a stream does not notice that its objects are evicted while it is open", async () => {
  const account = await edge.account(USD);
  const tag = makeTag();
  const body = chatBody("sim-small", "[[tokens=20]][[drip=10]]")(tag);
  const stream = await openChatStream(edge, account, body);
  await stream.readUntil(() => stream.tokens() > 3);
  for (const partition of [accountPartition(account.address), ceilingPartition]) {
    await assert.rejects(edge.object(partition, "evict"));
  }
  assert.ok(await stream.readAll());
  assert.equal(stream.tokens(), 20);
  assertBilledExactly(await paidFor(edge, account, tag));
});

test("where an object is evicted at every try, what was served is charged once, and the rest is free", async () => {
  const made: { account: TestAccount; tag: string; isServed: boolean; name: string }[] = [];
  let failures = 0;
  for (const step of steps) {
    for (const moment of someMoments) {
      const account = await edge.account(USD);
      const tag = makeTag();
      const { over } = await evictAt({ step, moment, times: 1_000 });
      const body = chatBody("sim-small", "[[tokens=5]]", { stream: true })(tag);
      const response = await edge.call("/v1/chat/completions", { key: account.key, body });
      const isServed = (await response.text()).endsWith("data: [DONE]\n\n");
      if (step === "settle") {
        failures += 1;
        await eventually(() => assert.ok(edge.output().split("settle_failed").length > failures, "the last try"));
      }
      const times = await over();
      assert.ok(times >= (isServed ? 1 : 2), `${step}, ${moment}: ${times} times`);
      made.push({ account, tag, isServed, name: `${step}, ${moment}` });
    }
  }
  const addresses = made.map(({ account }) => account.address);
  await endHolds(edge, [...addresses.map(accountPartition), ceilingPartition]);
  for (const { account, tag, isServed, name } of made) {
    const charges = (await settledOf(edge, account.address)).map(({ receipt }) => receipt.chargeNanoUsd);
    const bills = providerRecords(edge, tag).map(billed);
    if (isServed) assert.deepEqual(charges, bills, name);
    else assert.deepEqual([sum(charges), charges.length <= 1], [0, true], name);
    const wasStopped = name.startsWith("reserve");
    if (wasStopped) assert.deepEqual(bills, [], `${name}: forwarded without a hold`);
  }
  assert.equal(
    made.filter(({ isServed }) => isServed).length,
    someMoments.length,
    "those that were evicted at a checkpoint",
  );
});

async function snapshotInForce(): Promise<string> {
  const status = (await (await fetch(`${edge.url}/api/v1/status`)).json()) as {
    data: { prices: { snapshot: string } };
  };
  return status.data.prices.snapshot;
}

/** The rows of an unfinished request, and how the sweeper ends them. */
const leftovers: [step: CommandType, name: string, left: { deliveredNanoUsd?: number; upstreamId?: string }][] = [
  ["orphan", "an answer that the provider may have a record of", { deliveredNanoUsd: 700, upstreamId: "unknown" }],
  ["settle", "an answer that was begun", { deliveredNanoUsd: 700 }],
  ["release", "nothing", {}],
];
for (const [step, name, { deliveredNanoUsd = 0, upstreamId = null }] of leftovers) {
  for (const moment of someMoments) {
    test(`the sweeper, evicted at ${step}, ${moment}, ends what left ${name}`, async () => {
      const { address } = await edge.account(USD);
      const account = accountPartition(address);
      const [{ digest = "" } = {}] = await edge.rows("key", account);
      const id = `${makeTag()}left`;
      const detail = JSON.stringify({
        route: "chat",
        model: "sim-small",
        snapshot: await snapshotInForce(),
        stream: true,
      });
      const terms = { id, digest, at: edge.now(), amountNanoUsd: 1_000, detail };
      assert.equal(await hold(edge.put, account, terms), "reserved");
      if (deliveredNanoUsd > 0) {
        await edge.put(account, { type: "checkpoint", id, deliveredNanoUsd, upstreamId });
      }
      const { over } = await evictAt({ step, moment, times: 1 });
      await endHolds(edge, [account, ceilingPartition]);
      assert.equal(await over(), 1);
      const charges = (await settledOf(edge, address)).map(({ receipt }) => receipt.chargeNanoUsd);
      assert.deepEqual(charges, [deliveredNanoUsd]);
    });
  }
}

test("at the end accounts, uses and the ceiling agree, and an eviction occurred at each step", async () => {
  await checkSums(edge);
  console.log(`evicted: ${JSON.stringify(evicted)}`);
  for (const step of new Set([...steps, ...leftovers.map(([step]) => step)])) {
    for (const moment of someMoments) assert.ok((evicted[`${step}, ${moment}`] ?? 0) > 0, `${step}, ${moment}`);
  }
});
