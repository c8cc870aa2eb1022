import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Hex } from "viem";
import { readStatus } from "../activate.ts";
import { chainClients } from "../chain-clients.ts";
import { gatewayTime } from "../clock.ts";
import type { Connection } from "../connection.ts";
import { contractOn, isPinned } from "../directory.ts";
import { RefusedError } from "../errors.ts";
import { requestText } from "../request.ts";
import { requireAccount } from "../send.ts";
import {
  type Batch,
  batches,
  type ListedReceipt,
  readActivity,
  readBatch,
  readCredits,
  receipts,
} from "../spending.ts";
import { collectBooks } from "./collect-books.ts";
import { inRanges } from "./events-in-ranges.ts";
import type { ChainEvidence, Evidence } from "./evidence.ts";
import { firstBlockOf } from "./first-block.ts";

/** Reads all that the checks look at. Needs an account, which signs in: a key does not see the whole account. */
export async function collectEvidence(given: Connection): Promise<Evidence> {
  const { address: account } = requireAccount(given);
  const connection = { ...given, apiKey: null };
  const { entry } = await chainClients(connection);
  const chainId = entry.chain_id;
  const { credits, listed, totals } = await readSpending(connection);
  const chain = await collectChain(connection, account);
  return {
    version: 3,
    madeAt: new Date(await gatewayTime(connection)).toISOString(),
    gateway: connection.gateway,
    account,
    contract: {
      chainId,
      address: contractOn(connection, entry, "inferenceSettlement"),
      named: entry.contracts.inferenceSettlement ?? null,
      isPinned: isPinned(connection, chainId, "inferenceSettlement"),
    },
    said: {
      credits,
      receipts: listed,
      totals,
      retentionDays: (await readStatus(connection)).receipt_retention_days,
      batches: await collectBatches(connection, chain),
      prices: await readPrices(connection, listed),
    },
    chain,
    books: await collectBooks(connection),
  };
}

/** Receipts, totals and balance of one moment: read again if something was spent between. */
async function readSpending(connection: Connection) {
  for (let tries = 1; ; tries++) {
    const before = await readCredits(connection);
    const listed: ListedReceipt[] = [];
    const totals: Record<string, number> = {};
    // The gateway's day may be one ahead of ours.
    const last = new Date((await gatewayTime(connection)) + DAY_MS);
    for (let day = last; day.toISOString() > FIRST_DAY; day = new Date(day.getTime() - 366 * DAY_MS)) {
      const first = new Date(day.getTime() - 365 * DAY_MS).toISOString().slice(0, 10);
      const days = { from: first, to: day.toISOString().slice(0, 10) };
      for await (const receipt of receipts(connection, days)) listed.push(receipt);
      for (const { date, usage_nano_usd: spent } of await readActivity(connection, { ...days, groupBy: ["day"] })) {
        totals[date ?? ""] = spent;
      }
    }
    const credits = await readCredits(connection);
    if (credits.total_usage_nano_usd === before.total_usage_nano_usd || tries === 5) return { credits, listed, totals };
  }
}

/** No gateway of this kind is older. */
const FIRST_DAY = "2026-01-01";
const DAY_MS = 86_400_000;

/** The account's batches: those in which the gateway shows uses of it, and those that debited it. */
async function collectBatches(connection: Connection, { debits, roots }: ChainEvidence): Promise<Batch[]> {
  const debited = new Set(debits.map(({ batch }) => batch));
  const own: Batch[] = [];
  for await (const { id } of batches(connection)) {
    const batch = await readBatch(connection, id);
    if ((batch.leaves ?? []).length > 0 || debited.has(id)) own.push(batch);
  }
  const { entry, reader } = await chainClients(connection);
  const address = contractOn(connection, entry, "inferenceSettlement");
  const final = await reader.getBlock({ blockTag: "finalized" });
  for (const { id } of own) {
    const query = { address, abi: inferenceSettlementAbi, functionName: "rootOf", args: [BigInt(id)] } as const;
    roots[id] = await reader.readContract({ ...query, blockNumber: final.number });
  }
  return own;
}

/** The prices of all receipts that rest on a usage. */
async function readPrices(
  connection: Connection,
  listed: readonly ListedReceipt[],
): Promise<Evidence["said"]["prices"]> {
  const ids = listed.filter(({ basis }) => basis === "usage").flatMap(({ price_snapshot: id }) => id ?? []);
  const prices: Record<string, string | null> = {};
  for (const id of new Set(ids)) {
    prices[id] = await requestText(connection, `/api/v1/prices/${encodeURIComponent(id)}`).catch(nullIfUnknown);
  }
  return prices;
}

/** Of prices that are not kept any more. */
function nullIfUnknown(error: unknown): null {
  if (error instanceof RefusedError && [400, 404].includes(error.status)) return null;
  throw error;
}

async function collectChain(connection: Connection, account: Hex): Promise<ChainEvidence> {
  const clients = await chainClients(connection);
  const { entry, reader, nodeOf } = clients;
  const contract = {
    address: contractOn(connection, entry, "inferenceSettlement"),
    abi: inferenceSettlementAbi,
  } as const;
  const { number: block, timestamp } = await reader.getBlock({ blockTag: "finalized" });
  const creditNanoUsd = await reader.readContract({
    ...{ ...contract, functionName: "creditNanoUsd", args: [account], blockNumber: block },
  });
  const first = await firstBlockOf(clients, contract.address, block);
  const activated = await inRanges(first, block, (fromBlock, toBlock) =>
    reader.getContractEvents({
      ...contract,
      eventName: "Activated",
      args: { account },
      fromBlock,
      toBlock,
      strict: true,
    }),
  );
  const debited = await inRanges(first, block, (fromBlock, toBlock) =>
    reader.getContractEvents({
      ...contract,
      eventName: "Debited",
      args: { account },
      fromBlock,
      toBlock,
      strict: true,
    }),
  );
  return {
    node: nodeOf,
    firstBlockBy: first.by,
    block: Number(block),
    at: new Date(Number(timestamp) * 1_000).toISOString(),
    creditNanoUsd: String(creditNanoUsd),
    activations: activated.map(({ args, blockNumber, transactionHash: transaction }) => ({
      amountToken: String(args.amount),
      block: Number(blockNumber),
      transaction,
    })),
    debits: debited.map(({ args, blockNumber, transactionHash: transaction }) => ({
      batch: Number(args.batch),
      amountNanoUsd: String(args.amountNanoUsd),
      block: Number(blockNumber),
      transaction,
    })),
    roots: {},
  };
}
