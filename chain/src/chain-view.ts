import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { type Abi, decodeFunctionResult, encodeFunctionData } from "viem";
import { type ChainClient, ChainContradiction, RpcError } from "./rpc.ts";

/** Reads of a chain. Each answer is parsed strictly, because nodes are not trusted. */
export type Hex = `0x${string}`;

export type Block = {
  number: number;
  hash: Hex;
  /** Ms since the epoch. */
  at: number;
};

/** Null if the node has no such block. */
export async function readBlock(client: ChainClient, block: number | "latest" | "finalized"): Promise<Block | null> {
  const which = typeof block === "number" ? quantity(block) : block;
  const answer = await asked(client.request("eth_getBlockByNumber", [which, false]));
  if (answer === null) return null;
  const { number, hash, timestamp } = parseObject(answer);
  const found = { number: parseQuantity(number), hash: parseHash(hash), at: parseQuantity(timestamp) * 1_000 };
  if (typeof block === "number" && found.number !== block) {
    throw new ChainContradiction(`asked for block ${block}, the node answers with block ${found.number}`);
  }
  return found;
}

/**
 * The result of reading blocks up to `end` by their numbers, if `end` has the same hash afterwards.
 *
 * @throws ChainUnavailable if it has not, because the answers may belong to another fork.
 */
export async function inPlace<T>(client: ChainClient, end: Block, reading: Promise<T>): Promise<T> {
  const result = await reading;
  const again = await readBlock(client, end.number);
  if (again?.hash !== end.hash) throw new ChainUnavailable(`block ${end.number} changed while it was read`);
  return result;
}

export async function readChainId(client: ChainClient): Promise<number> {
  return parseQuantity(await asked(client.request("eth_chainId", [])));
}

export type Call = { from?: Address; to: Address; data: Hex; gas?: Hex };

/**
 * A contract's answer in a block; `0x` if there is no contract.
 *
 * @throws RpcError if the contract failed. Every other error is `ChainUnavailable`.
 */
export async function callAt(client: ChainClient, call: Call, block: Block | "latest"): Promise<Hex> {
  if (block === "latest") return answerOf(client, call, block);
  try {
    return parseHex(await client.request("eth_call", [call, { blockHash: block.hash, requireCanonical: true }]));
  } catch (error) {
    // The node finds blocks by number only.
    if (!(error instanceof RpcError) || error.isContractFailure) throw error;
    return answerOf(client, call, quantity(block.number));
  }
}

/** A function of a contract that only reads. */
export type View = { to: Address; abi: Abi; functionName: string; args?: readonly unknown[]; gas?: number };

/**
 * The gas of a call to a contract of others, on the operator's node. It pays for an answer of about 280 KB, which is
 * far less than the client reads (`maxResponseBytes`).
 */
const VIEW_GAS = 200_000;

/** What a contract answers, undecoded: `0x` if there is no contract, undefined if it fails. */
export function askView(client: ChainClient, view: View, block: Block | "latest"): Promise<Hex | undefined> {
  return callView(client, view, block).catch((error: unknown) => {
    if (error instanceof RpcError) return undefined;
    throw error;
  });
}

/** @throws ChainUnavailable if there is no contract with this function. */
export async function readView<T>(
  client: ChainClient,
  { to, ...view }: Omit<View, "to"> & { to: Address | null },
  block: Block | "latest",
): Promise<T> {
  try {
    if (to === null) throw new TypeError("the settings name no such contract");
    return decodeFunctionResult({ ...view, data: await callView(client, { ...view, to }, block) }) as T;
  } catch (error) {
    if (error instanceof ChainUnavailable) throw error;
    const why = error instanceof RpcError ? error.message : "its answer cannot be read";
    throw new ChainUnavailable(`${view.functionName} of ${to}: ${why}`, { cause: error });
  }
}

function callView(client: ChainClient, view: View, block: Block | "latest"): Promise<Hex> {
  const { to, gas = VIEW_GAS } = view;
  const data = encodeFunctionData({ ...view, args: view.args ?? [] });
  return callAt(client, { to, data, gas: quantity(gas) }, block);
}

/** A word of 32 bytes; undefined unless the answer is exactly one. */
export function parseWord(answer: Hex): bigint | undefined {
  return answer.length === 66 ? BigInt(answer) : undefined;
}

/** An address in exactly one word; null for the zero address, undefined for anything else. */
export function parseAddress(answer: Hex): Address | null | undefined {
  if (!/^0x0{24}[0-9a-f]{40}$/.test(answer)) return undefined;
  return BigInt(answer) === 0n ? null : `0x${answer.slice(26)}`;
}

export function quantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}

export function parseQuantity(value: unknown): number {
  if (typeof value !== "string" || !/^0x(0|[1-9a-f][0-9a-f]{0,13})$/i.test(value)) throw unreadable("a number", value);
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw unreadable("a number", value);
  return number;
}

export function parseHash(value: unknown): Hex {
  if (typeof value !== "string" || !/^0x[0-9a-f]{64}$/i.test(value)) throw unreadable("a hash", value);
  return value.toLowerCase() as Hex;
}

export function parseHex(value: unknown): Hex {
  if (typeof value !== "string" || !/^0x([0-9a-f]{2})*$/i.test(value)) throw unreadable("bytes", value);
  return value.toLowerCase() as Hex;
}

export function parseObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw unreadable("an object", value);
  return value as Record<string, unknown>;
}

async function answerOf(client: ChainClient, call: Call, block: string): Promise<Hex> {
  try {
    return parseHex(await client.request("eth_call", [call, block]));
  } catch (error) {
    throw error instanceof RpcError && !error.isContractFailure ? nodeError(error) : error;
  }
}

async function asked(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (error) {
    throw error instanceof RpcError ? nodeError(error) : error;
  }
}

/** An error that no contract can have caused. */
function nodeError(error: RpcError): ChainUnavailable {
  return new ChainUnavailable(`the node answers: ${error.message}`, { cause: error });
}

function unreadable(what: string, value: unknown): ChainUnavailable {
  return new ChainUnavailable(`the node answers with ${JSON.stringify(value)?.slice(0, 100)}, which is not ${what}`);
}
