import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { decodeChunk } from "@inference/protocol/chunk";
import type { RequestId } from "@inference/protocol/id";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { type Keccak, pureKeccak } from "@inference/protocol/merkle-tree";
import { statementTrees } from "@inference/settler/statement-tree";
import { createPublicClient, hexToBytes, http } from "viem";
import { addressAt, CHAIN_ID, CHARGE_NANO_USD, fail, openSettledBooks } from "./settled-books.ts";

/**
 * Settles a day's uses end to end: the ledger's commands write them into a SQLite file, statements are sealed, hashed,
 * posted to the real contract on a local chain and read as final. Then it hashes one account's statement of all uses.
 * `node tools/run.mjs test/bench/src/settlement-day.ts`
 */
const { values } = parseArgs({
  options: { uses: { type: "string", default: "1000000" }, accounts: { type: "string", default: "1800" } },
});
const USES = Number(values.uses);
const ACCOUNTS = Number(values.accounts);
const SNAPSHOT = "5".repeat(32);

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
  const books = await openSettledBooks({
    ...{ chain, keccak, accounts: ACCOUNTS, snapshot: SNAPSHOT, detail: "{}", secret: randomBytes(32) },
    file: join(folder, "gateway.sqlite"),
  });
  const served = await measured(() => books.serve(USES));
  const sealed = await measured(() => books.seal());
  const posted = await measured(() => books.post());
  say({ uses: USES, accounts: ACCOUNTS, served, sealed, posted, ...(await chunksOf(chain)) });
  say({ memoryMiB: Math.round(process.resourceUsage().maxRSS / 1_024) });
  await books.close();
}

/** All chunks on the contract. Throws if its debits differ from the costs of the uses. */
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

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
