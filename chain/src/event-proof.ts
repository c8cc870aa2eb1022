import { createMerkleProof, createMPT } from "@ethereumjs/mpt";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { bytesToHex, concatHex, type Hex, hexToBytes, keccak256, numberToHex, pad, stringToHex, toRlp } from "viem";
import type { ChainClient } from "./rpc.ts";

/** The argument of the door's `claim`: proves against a block's hash that an authorization was executed. */
export type EventProof = {
  blockNumber: bigint;
  header: Hex;
  transactionIndex: bigint;
  nodes: Hex[];
  logIndex: bigint;
};

export type ExecutedAuthorization = {
  stablecoin: Address;
  from: Address;
  nonce: Hex;
  /** The transaction with the stablecoin's event `AuthorizationUsed(from, nonce)`. */
  transaction: Hex;
};

/**
 * Proves the event of an executed authorization. Reads the transaction, its block and all receipts of the block.
 *
 * @returns null if the transaction is unknown, not in a block, or without this event.
 * @throws ChainUnavailable if the node does not answer, or if the header or the receipts that it gives do not have the
 * hashes of the block: either the node lies, or the chain has a form of blocks that this version does not know.
 */
export async function proveAuthorization(
  client: ChainClient,
  { stablecoin, from, nonce, transaction }: ExecutedAuthorization,
): Promise<EventProof | null> {
  const own = (await client.request("eth_getTransactionReceipt", [transaction])) as RawReceipt | null;
  const wanted = [AUTHORIZATION_USED, pad(from), nonce].join().toLowerCase();
  const logIndex = own?.logs.findIndex(
    ({ address, topics }) => address === stablecoin.toLowerCase() && topics.join() === wanted,
  );
  if (own === null || logIndex === undefined || logIndex < 0) return null;
  const [block, receipts] = (await Promise.all([
    client.request("eth_getBlockByHash", [own.blockHash, false]),
    client.request("eth_getBlockReceipts", [own.blockHash]),
  ])) as [RawBlock | null, readonly RawReceipt[] | null];
  if (block === null || receipts === null) return null;

  const header = headerOf(block);
  if (keccak256(header) !== block.hash) throw unknownForm("header");
  const trie = await createMPT();
  for (const receipt of receipts) await trie.put(keyOf(receipt), hexToBytes(encodedReceipt(receipt)));
  if (bytesToHex(trie.root()) !== block.receiptsRoot) throw unknownForm("list of receipts");
  const nodes = await createMerkleProof(trie, keyOf(own));
  return {
    blockNumber: BigInt(block.number),
    header,
    transactionIndex: BigInt(own.transactionIndex),
    nodes: nodes.map((node) => bytesToHex(node)),
    logIndex: BigInt(logIndex),
  };
}

const AUTHORIZATION_USED = keccak256(stringToHex("AuthorizationUsed(address,bytes32)"));

/** The fields of a header in their order. Later forks added those of LATER one after the other. */
const HASHES = [
  "parentHash",
  "sha3Uncles",
  "miner",
  "stateRoot",
  "transactionsRoot",
  "receiptsRoot",
  "logsBloom",
] as const;
const NUMBERS = ["difficulty", "number", "gasLimit", "gasUsed", "timestamp"] as const;
const SEAL = ["extraData", "mixHash", "nonce"] as const;
const LATER = [
  ["baseFeePerGas", integer],
  ["withdrawalsRoot", String],
  ["blobGasUsed", integer],
  ["excessBlobGas", integer],
  ["parentBeaconBlockRoot", String],
  ["requestsHash", String],
] as const;

/** A node's answer, with all numbers in hex. */
type Field = (typeof HASHES)[number] | (typeof NUMBERS)[number] | (typeof SEAL)[number];
type RawBlock = Readonly<Record<Field | "hash", Hex> & Partial<Record<(typeof LATER)[number][0], Hex>>>;
type RawReceipt = {
  type: Hex;
  status: Hex;
  cumulativeGasUsed: Hex;
  logsBloom: Hex;
  logs: readonly { address: Hex; topics: readonly Hex[]; data: Hex }[];
  blockHash: Hex;
  transactionIndex: Hex;
  /** Only a deposit on a chain of the OP stack has this field. */
  depositNonce?: Hex;
  depositReceiptVersion?: Hex;
};

function headerOf(block: RawBlock): Hex {
  return toRlp([
    ...HASHES.map((name) => block[name]),
    ...NUMBERS.map((name) => integer(block[name])),
    ...SEAL.map((name) => block[name]),
    ...LATER.flatMap(([name, write]) => {
      const value = block[name];
      return value === undefined ? [] : [write(value) as Hex];
    }),
  ]);
}

function encodedReceipt(receipt: RawReceipt): Hex {
  const { type, status, cumulativeGasUsed, logsBloom, logs, depositNonce, depositReceiptVersion } = receipt;
  const deposit = [depositNonce, depositReceiptVersion].filter((field) => field !== undefined);
  const list = toRlp([
    integer(status),
    integer(cumulativeGasUsed),
    logsBloom,
    logs.map(({ address, topics, data }) => [address, [...topics], data]),
    ...deposit.map(integer),
  ]);
  return Number(type) === 0 ? list : concatHex([numberToHex(Number(type), { size: 1 }), list]);
}

function keyOf({ transactionIndex }: RawReceipt): Uint8Array {
  return hexToBytes(toRlp(integer(transactionIndex)));
}

/** RLP writes a number without leading zeros, and zero as no byte. */
function integer(value: Hex): Hex {
  const number = BigInt(value);
  if (number === 0n) return "0x";
  const digits = number.toString(16);
  return `0x${digits.length % 2 === 0 ? "" : "0"}${digits}`;
}

function unknownForm(what: string): ChainUnavailable {
  return new ChainUnavailable(
    `The ${what} of a block have another hash than the block names, so its events cannot be proven.`,
  );
}
