import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createChainClient } from "@inference/chain/rpc";
import { createSettlementWatcher } from "@inference/chain/settlement-watcher";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { openDatabase } from "@inference/host-node/database";
import { openNodeLedger } from "@inference/host-node/ledger";
import { timers } from "@inference/host-node/timers";
import { chainPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { type Saga, send } from "@inference/ledger/saga";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { decodeChunk } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { makeRequestId, type RequestId } from "@inference/protocol/id";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { type Keccak, pureKeccak } from "@inference/protocol/merkle-tree";
import { createSettler } from "@inference/settler/settler";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements } from "@inference/settler/statements";
import { createPublicClient, hexToBytes, http, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { inGroups, issueKey, makeKey } from "./books.ts";

/**
 * A day's uses, settled end to end: written by the ledger's commands into a SQLite file, sealed, hashed, posted to the
 * real contract on a local chain, and heard as final. Then the hash alone, for one account with as many uses.
 * `node tools/run.mjs test/bench/src/settlement-day.ts`
 */
const { values } = parseArgs({
  options: { uses: { type: "string", default: "1000000" }, accounts: { type: "string", default: "1800" } },
});
const USES = Number(values.uses);
const ACCOUNTS = Number(values.accounts);
const CHAIN_ID = 31337;
const CREDIT_TOKEN = 1_000_000_000n;
const CEILING_NANO_USD = 1_000_000_000_000_000n;
const CHARGE_NANO_USD = 123_456;
const HOLD_NANO_USD = 200_000;
const SNAPSHOT = "5".repeat(32);
/** Odd, so that addresses have the bytes that real ones have: zeros cost less gas. */
const SPREAD = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bn;
const mnemonic = "test test test test test test test test test test test junk";
const settlerKey = mnemonicToAccount(mnemonic, { addressIndex: 4 }).getHdKey().privateKey ?? new Uint8Array();

const keccak = await makeKeccak();
const folder = mkdtempSync(join(tmpdir(), "settlement-day-"));
const chain = await startPrimaryChain();
try {
  await settleDay(chain, folder);
} finally {
  await chain.stop();
  rmSync(folder, { recursive: true });
}
const pureUses = Math.min(USES, 100_000);
say({ hash: "WebAssembly", uses: USES, ...hashed(keccak, USES) });
say({ hash: "JavaScript", uses: pureUses, ...hashed(pureKeccak, pureUses) });

async function settleDay(chain: PrimaryChain, folder: string): Promise<void> {
  const database = openDatabase(join(folder, "gateway.sqlite"), "NORMAL");
  const ledger = openNodeLedger(database, { now: Date.now, epoch: 1, onAlert: fail, onFatal: fail });
  const common = {
    ...{ ledger, chainId: CHAIN_ID, settlement: chain.settlement, now: Date.now, onAlert: fail },
    client: createChainClient({ url: chain.rpcUrl, fetch, random: Math.random, timers, tries: 3 }),
  };
  const watcher = createSettlementWatcher({
    ...{ ...common, keccak, startBlock: chain.startBlock, confirmations: "finalized" },
  });
  const settlement = { chainId: CHAIN_ID, address: chain.settlement };
  const statements = createStatements({
    ...common,
    terms: { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 },
    makeTree: statementTrees(settlement, keccak),
  });
  const settler = createSettler({ ...common, privateKey: toHex(settlerKey) });
  const credentials = makeCredentials(randomBytes(32), { bytes: randomBytes });
  const owners = Array.from({ length: ACCOUNTS }, (_, index) => issueKey(credentials, index, addressAt(index)));

  await chain.raiseCeiling(CEILING_NANO_USD);
  for (let index = 0; index < ACCOUNTS; index++) await chain.activate(addressAt(index), CREDIT_TOKEN);
  await chain.finalize();
  await follow(watcher);
  await inGroups(ledger, ACCOUNTS, (index) => makeKey(owners[index] ?? fail("no account")));
  const served = await measured(() =>
    inGroups(ledger, USES, (index) => use(owners[index % ACCOUNTS] ?? fail("no account"))),
  );
  const sealed = await measured(() => statements.poll());
  const posted = await measured(async () => {
    while (!(await isFinal(owners.map(({ partition }) => partition)))) {
      await settler.poll();
      await chain.mine();
      await follow(watcher);
      await statements.poll();
    }
  });
  say({ uses: USES, accounts: ACCOUNTS, served, sealed, posted, ...(await chunksOf(chain)) });
  say({ memoryMiB: Math.round(process.resourceUsage().maxRSS / 1_024) });
  await ledger.close();
  database.close();

  async function isFinal(accounts: readonly Partition[]): Promise<boolean> {
    for (const account of accounts) {
      const { baseNanoUsd, settledNanoUsd } = await ledger.read(account, { type: "bill" });
      if (baseNanoUsd !== settledNanoUsd) return false;
    }
    return true;
  }
}

async function follow(watcher: { poll(): Promise<{ outcome: string; reason?: string; more?: boolean }> }) {
  for (let isMore = true; isMore; ) {
    const { outcome, reason, more = false } = await watcher.poll();
    if (outcome === "halted" || outcome === "waiting") fail(reason);
    isMore = more;
  }
}

function* use({ partition, digest }: { partition: Partition; digest: string }): Saga<void> {
  const at = Date.now();
  const id = makeRequestId(at, randomBytes(10));
  const request = { id, at, owner: partition, payer: { kind: "key", digest } as const, detail: "{}" };
  const terms = { amountNanoUsd: HOLD_NANO_USD, leaseMs: 900_000, chain: chainPartition(CHAIN_ID) };
  const { status } = yield* reserveRequest({ ...request, ...terms });
  if (status !== "reserved") fail(`a reserve ended as ${status}`);
  const end = { chargeNanoUsd: CHARGE_NANO_USD, lossNanoUsd: 0, detail: "{}", snapshot: SNAPSHOT };
  yield* send(partition, { type: "settle", id, at, ...end });
}

/** What the contract says of all chunks. Throws if it was not debited what the uses cost. */
async function chunksOf({ rpcUrl, settlement: address }: PrimaryChain) {
  const reader = createPublicClient({ transport: http(rpcUrl) });
  const contract = { address, abi: inferenceSettlementAbi } as const;
  const total = await reader.readContract({ ...contract, functionName: "totalDebitedNanoUsd" });
  if (total !== BigInt(USES * CHARGE_NANO_USD)) fail(`${total} nano-dollars were debited`);
  const events = await reader.getContractEvents({ ...contract, eventName: "Settled", fromBlock: 0n });
  const chunks = await Promise.all(
    events.map(async ({ transactionHash: hash, args }) => {
      const [{ gasUsed }, { input }] = await Promise.all([
        reader.getTransactionReceipt({ hash }),
        reader.getTransaction({ hash }),
      ]);
      return {
        accounts: decodeChunk(hexToBytes(args.data ?? "0x")).length,
        gas: Number(gasUsed),
        bytes: input.length / 2,
      };
    }),
  );
  const gas = chunks.reduce((sum, chunk) => sum + chunk.gas, 0);
  const records = chunks.reduce((sum, chunk) => sum + chunk.accounts, 0);
  return { chunks, gas, records, gasARecord: Math.round(gas / records) };
}

/** Processor time of a statement's root, and the heap that it grows by. */
function hashed(hash: Keccak, uses: number): { microsecondsAUse: number; heapMiB: number } {
  const tree = statementTrees({ chainId: CHAIN_ID, address: addressAt(0) }, hash)(addressAt(1), 0);
  const before = { cpu: process.cpuUsage(), heap: process.memoryUsage().heapUsed };
  let heap = 0;
  for (let from = 0; from < uses; from += 500) {
    const page = Array.from({ length: Math.min(500, uses - from) }, (_, index) => ({
      receipt: `req_${String(from + index).padStart(26, "0")}` as RequestId,
      ...{ endsAtNanoUsd: from + index + 1, costNanoUsd: 1, dayServed: 20_000, snapshot: SNAPSHOT },
    }));
    void tree.add(page);
    heap = Math.max(heap, process.memoryUsage().heapUsed - before.heap);
  }
  void tree.root();
  const { user, system } = process.cpuUsage(before.cpu);
  return { microsecondsAUse: Number(((user + system) / uses).toFixed(2)), heapMiB: Math.round(heap / 2 ** 20) };
}

async function measured(work: () => Promise<void>): Promise<{ seconds: number; cpuSeconds: number }> {
  const [from, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  const tenths = (ms: number): number => Math.round(ms / 100) / 10;
  return { seconds: tenths(performance.now() - from), cpuSeconds: tenths((user + system) / 1_000) };
}

function addressAt(index: number): Address {
  return `0x${((BigInt(index + 1) * SPREAD) % 2n ** 160n).toString(16).padStart(40, "0")}`;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function fail(reason: unknown): never {
  throw new Error(`The day was not settled: ${String(reason)}`);
}
