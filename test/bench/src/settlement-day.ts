import { parseArgs } from "node:util";
import { startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { type Settlement, verifyUse } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import { contentOf } from "@inference/settler/batch-content";
import { settleCall } from "@inference/settler/settlement-contract";

/**
 * A day's uses as the settler would post them: how many batches, what they cost on chain, and the time and memory to
 * build them, to prove a use and to verify it. `node tools/run.mjs test/bench/src/settlement-day.ts`
 */
type Hex = `0x${string}`;

const { values } = parseArgs({
  options: { uses: { type: "string", default: "1000000" }, built: { type: "string", default: "1000000" } },
});
const USES = Number(values.uses);
/** Of those, how many are built into trees and timed. */
const BUILT = Number(values.built);
const MOST_ACCOUNTS = 200;
const DAY = Date.UTC(2027, 5, 15);
/** As `contracts/snapshots` has it. */
const BATCH_GAS = 69_100;
const ACCOUNT_GAS = 8_513;
const settlement: Settlement = { chainId: 31337, address: `0x${"5".repeat(40)}` };

/** Odd, so that no two accounts are alike. */
const SPREAD = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bn;
/** The settler's limit. Of other limits a tenth is built: the time for a use is much the same. */
const USUAL_USES = 500;

type Shape = { uses: number; accounts: number };

/** Whose each use is, one after the other. Every account is as likely as any other: so batches have most accounts. */
function* payersOf(accounts: number): Generator<number> {
  // The same every time (a linear congruential generator).
  let state = 1;
  for (let use = 0; use < USES; use++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield Math.floor((state / 2 ** 32) * accounts);
  }
}

/**
 * As `gatherUses` chooses: of the oldest uses that wait, at most `maxUses`, those of the first accounts.
 *
 * @param take Called with the places of a batch's uses.
 */
function gather(payers: readonly number[], maxUses: number, take: (places: readonly number[]) => void): Shape[] {
  const shapes: Shape[] = [];
  let waiting: number[] = [];
  let next = 0;
  while (next < payers.length || waiting.length > 0) {
    while (waiting.length < maxUses && next < payers.length) waiting.push(next++);
    const accounts = new Set<number>();
    const [batch, left]: [number[], number[]] = [[], []];
    for (const place of waiting) {
      const payer = payers[place] ?? 0;
      if (accounts.size < MOST_ACCOUNTS) accounts.add(payer);
      (accounts.has(payer) ? batch : left).push(place);
    }
    take(batch);
    shapes.push({ uses: batch.length, accounts: accounts.size });
    waiting = left;
  }
  return shapes;
}

function useAt(place: number, payer: number): UseRow {
  // Bytes that are not zero, as addresses have them: zeros cost less gas.
  const account = `0x${((BigInt(payer + 1) * SPREAD) % 2n ** 160n).toString(16).padStart(40, "0")}`;
  const id = `req_${String(place).padStart(26, "0")}`;
  const row = { id, account, chargeNanoUsd: 1_000 + (place % 997), admittedAt: DAY + place, server: "protocol" };
  return { ...row, batch: null, offer: null, setAside: null };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}

function timed(work: () => unknown): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}

/** The median of the times to prove one of a batch's uses, and to verify the proof, in ms. */
function proofTimes(uses: readonly UseRow[]): { proveMs: number; verifyMs: number } {
  const settled = uses.map((use) => settledUse(1, use));
  const tree = useTree(settlement, settled);
  const some = settled.slice(0, 201);
  const proveMs = median(some.map((use) => timed(() => tree.proofOf(use))));
  const verifyMs = median(
    some.map((use) => {
      const proof = tree.proofOf(use);
      return timed(() => {
        if (!verifyUse(tree.root, settlement, use, proof)) throw new Error("a proof is wrong");
      });
    }),
  );
  return { proveMs, verifyMs };
}

/** The gas of `settle` on a real chain, for each number of accounts: the second batch of the same accounts. */
async function measuredGas(counts: readonly number[]): Promise<Map<number, number>> {
  const chain = await startPrimaryChain();
  const found = new Map<number, number>();
  try {
    const settler: Address = "0x15d34aaf54267db7d7c367839aaf71a00a2c6a65";
    const most = Math.max(...counts);
    for (let payer = 1; payer <= most; payer++) await chain.activate(useAt(0, payer).account as Address, 1_000_000n);
    const { timestamp } = await chain.rpc<{ timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const day = Math.floor(Number(timestamp) / 86_400);
    let id = 0;
    for (const count of [1, ...counts]) {
      id += 1;
      const uses = Array.from({ length: count }, (_, payer) => useAt(payer, payer + 1));
      const data = settleCall(id, day, contentOf({ ...settlement, address: chain.settlement }, id, uses));
      const hash = await chain.rpc("eth_sendTransaction", [
        { from: settler, to: chain.settlement, data, gas: "0xf00000" },
      ]);
      await chain.mine();
      const receipt = await chain.rpc<{ status: Hex; gasUsed: Hex }>("eth_getTransactionReceipt", [hash]);
      if (receipt.status !== "0x1") throw new Error(`a batch of ${count} accounts was refused`);
      found.set(count, Number(receipt.gasUsed));
    }
  } finally {
    await chain.stop();
  }
  return found;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const table: Shape[] = [];
for (const accounts of [1_000, 100_000]) {
  const payers = [...payersOf(accounts)];
  for (const maxUses of [USUAL_USES, 5_000, 50_000]) {
    let built = 0;
    let buildMs = 0;
    let longestMs = 0;
    let heap = 0;
    let sample: UseRow[] = [];
    const shapes = gather(payers, maxUses, (places) => {
      if (built >= (maxUses === USUAL_USES ? BUILT : BUILT / 10)) return;
      const uses = places.map((place) => useAt(place, payers[place] ?? 0));
      if (uses.length > sample.length) sample = uses;
      const before = process.memoryUsage().heapUsed;
      const ms = timed(() => contentOf(settlement, 1, uses));
      heap = Math.max(heap, process.memoryUsage().heapUsed - before);
      built += uses.length;
      buildMs += ms;
      longestMs = Math.max(longestMs, ms);
    });
    const middle = shapes[shapes.length >> 1] ?? { uses: 0, accounts: 0 };
    table.push(middle);
    const gas = shapes.reduce((sum, shape) => sum + BATCH_GAS + ACCOUNT_GAS * shape.accounts, 0);
    const { proveMs, verifyMs } = proofTimes(sample);
    say(
      JSON.stringify({
        ...{ accounts, maxUses, batches: shapes.length, usesABatch: middle.uses, accountsABatch: middle.accounts },
        ...{ gasMillions: Math.round(gas / 1e6), gasAUse: Math.round(gas / USES), built },
        ...{ buildSeconds: Math.round(buildMs / 100) / 10, longestMs: Math.round(longestMs) },
        ...{ msAUse: Number((buildMs / built).toFixed(4)), heapMiB: Math.round(heap / 2 ** 20) },
        ...{ rssMiB: Math.round(process.memoryUsage().rss / 2 ** 20) },
        ...{ proveMs: Number(proveMs.toFixed(3)), verifyMs: Number(verifyMs.toFixed(3)) },
      }),
    );
  }
}
for (const [accounts, gas] of await measuredGas([...new Set(table.map((shape) => shape.accounts)), 50])) {
  const model = BATCH_GAS + ACCOUNT_GAS * accounts;
  say(JSON.stringify({ accounts, gas, model, difference: Number((gas / model - 1).toFixed(3)) }));
}
