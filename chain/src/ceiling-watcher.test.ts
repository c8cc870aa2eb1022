import assert from "node:assert/strict";
import { test } from "node:test";
import { LedgerUnavailable } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { utcDay } from "@inference/protocol/window";
import { toFunctionSelector } from "viem";
import { shareLiar } from "./testing/liar.ts";
import { openMemoryLedger } from "./testing/memory-ledger.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { alice, watch } from "./testing/watch.ts";

beginAnew();

const liar = shareLiar(() => chain.rpcUrl);

const usd = 1_000_000_000n;

test("the first ceiling is the contract's", async () => {
  const { drain, ceiling } = watch(chain);
  await drain();
  assert.equal(await ceiling(), 50_000_000_000);
});

test("a raised ceiling counts when it is final, and not a block earlier", async () => {
  const { drain, ceiling } = watch(chain);
  await drain();
  await chain.raiseCeiling(80n * usd);
  for (let depth = 0; depth < 8; depth += 1) {
    await drain();
    assert.equal(await ceiling(), 50_000_000_000);
    await chain.mine();
  }
  await drain();
  assert.equal(await ceiling(), 80_000_000_000);
});

test("a lowered ceiling counts when it is seen, to zero if need be", async () => {
  const { drain, ceiling } = watch(chain);
  await drain();
  await chain.lowerCeiling(0n);
  await drain();
  assert.equal(await ceiling(), 0);
});

test("a ceiling lowered by less than earlier days take of it counts as lowered", async () => {
  const { drain, ceiling, ledger } = watch(chain);
  await drain();
  const carry = { type: "setCarry", day: utcDay(Date.now()), amountNanoUsd: 2_000_000_000 } as const;
  await ledger.run(() => send(ceilingPartition, carry));
  await drain();
  await chain.lowerCeiling(49n * usd);
  await drain();
  assert.equal(await ceiling(), 47_000_000_000);
  assert.ok(((await ledger.read(ceilingPartition, { type: "cursor" }))?.block ?? 0) > 0, "no node may undo it");
});

test("a ceiling lowered and raised again before either is final stays low until the raise is final", async () => {
  const { drain, ceiling } = watch(chain);
  await drain();
  await chain.lowerCeiling(10n * usd);
  await drain();
  await chain.raiseCeiling(30n * usd);
  await drain();
  assert.ok((await ceiling()) <= 30_000_000_000);
  await chain.finalize();
  await drain();
  assert.equal(await ceiling(), 30_000_000_000);
});

test("a node that is behind does not raise a ceiling that another node has shown lowered", async () => {
  const { drain, ceiling, watcher } = watch(chain, { url: liar.url });
  await drain();
  const before = await chain.latest();
  await chain.lowerCeiling(10n * usd);
  await drain();
  assert.equal(await ceiling(), 10_000_000_000);
  liar.lie = ({ method, params }, honest) =>
    method === "eth_getBlockByNumber" && params[0] === "latest"
      ? honest({ params: [`0x${before.toString(16)}`, false] })
      : undefined;
  assert.equal((await drain()).outcome, "idle");
  assert.equal(watcher.status().head, before);
  assert.equal(await ceiling(), 10_000_000_000);
});

test("after a restart a node that is behind does not raise it again either, not from zero", async () => {
  const first = watch(chain);
  await first.drain();
  const before = await chain.latest();
  await chain.lowerCeiling(0n);
  await first.drain();
  assert.equal(await first.ceiling(), 0);
  liar.lie = ({ method, params }, honest) =>
    method === "eth_getBlockByNumber" && params[0] === "latest"
      ? honest({ params: [`0x${before.toString(16)}`, false] })
      : undefined;
  const { drain, ceiling, watcher } = watch(chain, { url: liar.url, ledger: first.ledger });
  assert.equal((await drain()).outcome, "idle");
  assert.equal(watcher.status().head, before);
  assert.equal(await ceiling(), 0);
});

test("a node that lowers it in a block that cannot be does not lower it for ever", async () => {
  const lied = watch(chain, { url: liar.url });
  await lied.drain();
  await chain.mine();
  liar.lie = async ({ method, params }, honest) => {
    if (method === "eth_call") return { result: `0x${"0".repeat(64)}` };
    const answer = await honest();
    if (method !== "eth_getBlockByNumber" || params[0] !== "latest") return answer;
    return { result: { ...(answer.result as object), number: "0x38d7ea4c68000" } };
  };
  await lied.watcher.poll();
  assert.equal(await lied.ceiling(), 0);
  const lowered = await lied.ledger.read(ceilingPartition, { type: "cursor" });
  assert.ok((lowered?.block ?? 0) <= (await chain.latest()) + 100_000);
});

test("a lowering that a reorg takes back is taken back when that is final", async () => {
  const { drain, ceiling } = watch(chain);
  await drain();
  await chain.mine(2);
  await chain.lowerCeiling(10n * usd);
  await drain();
  await chain.reorg(1);
  await drain();
  assert.equal(await ceiling(), 10_000_000_000);
  await chain.finalize();
  await drain();
  assert.equal(await ceiling(), 50_000_000_000);
});

test("a ceiling above the largest amount counts as the largest amount", async () => {
  const { drain, ceiling } = watch(chain);
  await chain.raiseCeiling(1n << 95n);
  await chain.finalize();
  await drain();
  assert.equal(await ceiling(), 9_000_000_000_000_000);
});

test("nothing is written while the ceiling stays, nor after a restart", async () => {
  const ledger = openMemoryLedger();
  for (let restart = 0; restart < 3; restart += 1) {
    const { drain } = watch(chain, { ledger });
    await chain.mine();
    await drain();
    await chain.mine();
    await drain();
  }
  assert.equal(ledger.applied.filter(({ type }) => type === "setCeiling").length, 1);
});

test("a lowered ceiling that the ledger did not take is sent again, without a new block", async () => {
  const ledger = openMemoryLedger();
  const { drain, ceiling } = watch(chain, { ledger });
  await drain();
  await chain.lowerCeiling(10n * usd);
  const { run } = ledger;
  ledger.run = () => Promise.reject(new LedgerUnavailable("the disk is full"));
  await drain();
  assert.equal(await ceiling(), 50_000_000_000);
  ledger.run = run;
  await drain();
  assert.equal(await ceiling(), 10_000_000_000);
});

test("a ceiling that cannot be read stops no credit, and the operator hears of it after two minutes", async () => {
  const { drain, ceiling, balance, alerts, clock } = watch(chain, { url: liar.url });
  await drain();
  const selector = toFunctionSelector("ceilingNanoUsd()");
  liar.lie = ({ method, params }) =>
    method === "eth_call" && (params[0] as { data: string }).data === selector
      ? { error: { code: -32_000, message: "no" } }
      : undefined;
  await chain.activate(alice, 5n);
  await chain.finalize();
  await drain();
  assert.ok((await balance(alice)) > 0);
  assert.deepEqual(alerts, []);
  clock.skewMs = 121_000;
  await chain.mine();
  await drain();
  assert.match(alerts.join(), /ceiling/);
  liar.lie = undefined;
  await chain.raiseCeiling(80n * usd);
  await chain.finalize();
  await drain();
  assert.equal(await ceiling(), 80_000_000_000);
});
