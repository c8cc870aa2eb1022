import type { LedgerClient } from "@inference/ledger/client";
import { chainPartition } from "@inference/ledger/partition";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData } from "viem";
import { createAlarm } from "./alarm.ts";
import { type Block, callAt, parseAddress, parseQuantity, readBlock } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";
import { readUint } from "./settlement-view.ts";

/**
 * Recognises books that are older than the chain, such as a restored copy of the database: the chain has a batch that
 * they do not know. Their balances are too high then, and their uses may have been posted. Asked at the start of a
 * gateway, until a block of the last minute shows that the books are current: a node may be behind. What others post
 * later is found by the watcher.
 */
export type BooksCheck = {
  /** Asks unless a recent block has shown that the books are current. Never throws. */
  look(): Promise<BooksStanding>;
  standing(): BooksStanding;
};

/** `unknown`: the chain did not answer, or the node is behind the blocks that the ledger has read. */
export type BooksStanding = { state: "unknown" | "current" } | { state: "behind"; reason: string };

export type BooksCheckOptions = {
  client: ChainClient;
  chainId: number;
  settlement: Address;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
  /** For the operator of old books. Absent: what can be done on one machine. */
  whatToDo?: string;
};

export function createBooksCheck(options: BooksCheckOptions): BooksCheck {
  const alarm = createAlarm(options);
  let standing: BooksStanding = { state: "unknown" };
  let isProved = false;
  let failingSince: number | undefined;
  return {
    standing: () => standing,
    async look() {
      if (isProved) return standing;
      try {
        const block = await latestBlock(options);
        const reason = await whyBehind(options, block);
        // A chain of a development network makes no blocks for a while, and is read all the same.
        isProved = reason === undefined && options.now() - block.at <= RECENT_MS;
        standing = reason === undefined ? { state: "current" } : { state: "behind", reason };
        if (reason !== undefined) alarm("behind", `nothing is served: ${reason}. ${options.whatToDo ?? WHAT_TO_DO}`);
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error;
        failingSince ??= options.now();
        if (options.now() - failingSince < PATIENCE_MS) return standing;
        alarm("unknown", `it is not known whether the ledger is as new as the chain: ${error.message}`);
      }
      return standing;
    },
  };
}

export const WHAT_TO_DO =
  "If the database is an old copy, stop the gateway and put the newest copy in its place. If there is none, stop the " +
  "gateway and run `npm run gateway -- rebuild`, which brings the balances to the chain's credit.";

/** How long a node may fail before the operator is alerted. */
const PATIENCE_MS = 120_000;

/** A block of this age shows what the chain has. */
const RECENT_MS = 60_000;

async function latestBlock({ client, chainId, ledger }: BooksCheckOptions): Promise<Block> {
  const block = await readBlock(client, "latest");
  if (block === null) throw new ChainUnavailable("the node has no latest block");
  const cursor = await ledger.read(chainPartition(chainId), { type: "cursor" });
  if (cursor !== null && block.number < cursor.block) {
    throw new ChainUnavailable(`the node's latest block is ${block.number}, and block ${cursor.block} was read before`);
  }
  return block;
}

async function whyBehind(
  { client, chainId, settlement, ledger }: BooksCheckOptions,
  block: Block,
): Promise<string | undefined> {
  const partition = chainPartition(chainId);
  const count = Number((await readUint(client, settlement, "batchCount", block)) ?? 0n);
  const read = (await ledger.read(partition, { type: "cursor" }))?.lastBatchId ?? 0;
  if (count > read) {
    const own = await ledger.read(partition, { type: "batch", batch: count });
    if (own?.root !== (await readRoot(client, settlement, count, block))) {
      return `the chain has ${count} batches, and the ledger does not know the last one: it is older than the chain`;
    }
  }
  return unknownTransaction();

  /** A batch may be on its way that these books did not send. It ends in a block, and is a batch of the chain then. */
  async function unknownTransaction(): Promise<string | undefined> {
    const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "settler" });
    const settler = parseAddress(await callAt(client, { to: settlement, data }, "latest").catch(() => "0x" as const));
    if (settler === null || settler === undefined) return undefined;
    const [inBlock, sent] = await Promise.all(["latest", "pending"].map((when) => nonceOf(client, settler, when)));
    if (inBlock === undefined || sent === undefined || sent <= inBlock) return undefined;
    const [last] = await ledger.read(partition, { type: "batches", limit: 1 });
    if (last?.signed.some(({ nonce }) => nonce >= sent - 1) === true) return undefined;
    return `the settler ${settler} has sent a transaction that the ledger does not know, and it is in no block yet`;
  }
}

/** Undefined if the node does not tell. */
async function nonceOf(client: ChainClient, account: Address, when: string): Promise<number | undefined> {
  try {
    return parseQuantity(await client.request("eth_getTransactionCount", [account, when]));
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

async function readRoot(client: ChainClient, settlement: Address, batch: number, block: Block) {
  const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "rootOf", args: [BigInt(batch)] });
  return callAt(client, { to: settlement, data }, block).catch((error: unknown) => {
    throw error instanceof RpcError ? new ChainUnavailable(error.message, { cause: error }) : error;
  });
}
