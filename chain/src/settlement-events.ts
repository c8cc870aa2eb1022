import type { Activation, SettledChunk } from "@inference/ledger/commands";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChunkError, decodeChunk, recordLeaf, type SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { type Keccak, merkleTree, pureKeccak } from "@inference/protocol/merkle-tree";
import { cappedNanoUsd } from "@inference/protocol/money";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { bytesToHex, hexToBytes } from "viem";
import { type ChainEvent, type EventArgs, eventSource, mapped, readEvents } from "./events.ts";
import { type ChainClient, ChainContradiction } from "./rpc.ts";

/** The events that changed totals of accounts in some blocks, in the order of the chain. */
export type SettlementEvents = { activations: Activation[]; chunks: SettledChunk[] };

type Abi = typeof inferenceSettlementAbi;
type Activated = EventArgs<Abi, "Activated">;
type Settled = EventArgs<Abi, "Settled">;

/** Blocks of a settlement contract. `keccak` hashes the records of a full chunk: 3,600 hashes. */
export type SettlementQuery = { settlement: Address; from: number; to: number; keccak?: Keccak | undefined };

/**
 * @throws RpcError if the node refuses the range; ChainContradiction if a chunk's records have another root or sum.
 */
export async function readSettlementEvents(client: ChainClient, query: SettlementQuery): Promise<SettlementEvents> {
  const { settlement, keccak } = query;
  const activations: Activation[] = [];
  const chunks: SettledChunk[] = [];
  const sources = [
    mapped(eventSource(settlement, inferenceSettlementAbi, "Activated"), (args) => (place: Place) => {
      activations.push(activationOf(args, place));
    }),
    mapped(eventSource(settlement, inferenceSettlementAbi, "Settled"), (args) => (place: Place) => {
      chunks.push(chunkOf(args, place, keccak));
    }),
  ];
  for (const { args: add, ...place } of await readEvents(client, sources, query)) add(place);
  return { activations, chunks };
}

/**
 * The activations alone.
 *
 * @throws RpcError if the node refuses the range.
 */
export async function readActivations(client: ChainClient, query: SettlementQuery): Promise<Activation[]> {
  const source = eventSource(query.settlement, inferenceSettlementAbi, "Activated");
  return (await readEvents(client, [source], query)).map(({ args, ...place }) => activationOf(args, place));
}

type Place = Omit<ChainEvent<unknown>, "args">;

function activationOf(args: Activated, { block, transaction }: Place): Activation {
  return {
    id: Number(args.id),
    account: args.account.toLowerCase() as Address,
    amountToken: args.amount.toString(),
    totalActivated: args.totalActivated.toString(),
    accountActivatedNanoUsd: cappedNanoUsd(args.accountActivatedNanoUsd),
    block,
    transaction,
  };
}

function chunkOf(args: Settled, { block, transaction }: Place, keccak: Keccak = pureKeccak): SettledChunk {
  const records = recordsOf(args);
  const sum = records.reduce((total, { amountNanoUsd }) => total + BigInt(amountNanoUsd), 0n);
  const leaves = records.map((record) => recordLeaf(record, keccak));
  const tree = merkleTree(leaves, keccak);
  const root = bytesToHex(tree.root ?? new Uint8Array());
  if (root !== args.root || sum !== args.amountNanoUsd) {
    throw contradiction(`the records of chunk ${args.root} have the root ${root} and the sum ${sum}`);
  }
  return {
    root,
    block,
    transaction,
    day: utcDay(args.day * DAY_MS),
    amountNanoUsd: Number(args.amountNanoUsd),
    paidAfterNanoUsd: Number(args.paidAfterNanoUsd),
    totalDebitedNanoUsd: args.totalDebitedNanoUsd.toString(),
    records: records.map((record, index) => ({
      ...record,
      parts: JSON.stringify(record.parts),
      proof: tree.proofOf(index).map(withoutPrefix).join(""),
    })),
  };
}

function withoutPrefix(hash: Uint8Array): string {
  return bytesToHex(hash).slice(2);
}

function recordsOf({ root, data }: Settled): SettleRecord[] {
  try {
    return decodeChunk(hexToBytes(data));
  } catch (error) {
    if (error instanceof ChunkError) throw contradiction(`chunk ${root}: ${error.message}`);
    throw error;
  }
}

function contradiction(what: string): ChainContradiction {
  return new ChainContradiction(`the node's events do not belong together: ${what}`);
}
