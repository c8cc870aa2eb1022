import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import type { statusAnswer } from "@inference/protocol/wire/answers";
import type { activationsAnswer } from "@inference/protocol/wire/dollars";
import { encodeFunctionData, type Hash, type TransactionReceipt, zeroAddress } from "viem";
import type * as z from "zod";
import { type Arrival, arrivalSearch } from "./arrival.ts";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, readChain } from "./directory.ts";
import { ClientError, ContractError } from "./errors.ts";
import { pause } from "./pause.ts";
import type { Step } from "./progress.ts";
import { request } from "./request.ts";
import { requireAccount, type SendOptions, sendCall, untilFinal } from "./send.ts";

export type ActivateOptions = SendOptions & {
  /** In token units, 1e-6 dollar. */
  amountToken: bigint;
};

/** Burns tokens on the primary chain for as much balance, and waits until the gateway has credited it. Irreversible. */
export async function activate(connection: Connection, options: ActivateOptions): Promise<{ hash: Hash }> {
  const chain = await readChain(connection);
  const abi = inferenceSettlementAbi;
  const data = encodeFunctionData({ abi, functionName: "activate", args: [options.amountToken] });
  const call = { to: contractOn(connection, chain, "inferenceSettlement"), data, abi, ...burnOf(connection, options) };
  const { hash } = await sendCall(connection, { chainId: chain.chain_id, step: "activate", call }, options);
  await untilCredited(connection, { chainId: chain.chain_id, hash, step: "activate" }, options);
  return { hash };
}

/**
 * Burns tokens on a secondary chain for as much balance, and waits until the gateway has credited it. The chain's coin
 * pays for the message. An amount above the chain's cover waits for its dollars, up to a day: `dueAt` of the progress
 * is the latest time. Irreversible.
 */
export async function activateFrom(
  connection: Connection,
  options: ActivateOptions & { chainId: number },
): Promise<{ hash: Hash }> {
  const { chainId, amountToken } = options;
  const primary = await readChain(connection);
  const { entry, reader } = await chainClients(connection, chainId);
  if (entry.role === "primary") return activate(connection, options);
  const bridge = { address: contractOn(connection, entry, "tokenBridge"), abi: tokenBridgeAbi } as const;
  const value = await reader.readContract({ ...bridge, functionName: "quote", args: [eidOf(primary)] });
  const data = encodeFunctionData({ abi: tokenBridgeAbi, functionName: "activateOnBase", args: [amountToken] });
  const call = { to: bridge.address, data, value, abi: tokenBridgeAbi, ...burnOf(connection, options) };
  const { hash } = await sendCall(connection, { chainId, step: "activateFrom", call }, options);
  await untilCredited(connection, { chainId, hash, step: "activateFrom" }, options);
  return { hash };
}

export type BridgeOptions = SendOptions & {
  amountToken: bigint;
  fromChainId: number;
  toChainId: number;
  /** The recipient; absent: the account. */
  to?: `0x${string}`;
};

/** Moves tokens between the primary and a secondary chain. Returns when they have left; they arrive minutes later. */
export async function bridge(connection: Connection, options: BridgeOptions): Promise<{ hash: Hash }> {
  const { fromChainId: chainId, toChainId, amountToken } = options;
  const { address } = requireAccount(connection);
  const { entry, reader } = await chainClients(connection, chainId);
  const eid = eidOf(await readChain(connection, toChainId));
  const contract = { address: contractOn(connection, entry, "tokenBridge"), abi: tokenBridgeAbi } as const;
  const value = await reader.readContract({ ...contract, functionName: "quote", args: [eid] });
  const args = [eid, amountToken, options.to ?? address, address] as const;
  const data = encodeFunctionData({ abi: tokenBridgeAbi, functionName: "bridge", args });
  const call = { to: contract.address, data, value, abi: tokenBridgeAbi, ...burnOf(connection, options) };
  const { hash } = await sendCall(connection, { chainId, step: "bridge", call }, options);
  await untilFinal(connection, { chainId, hash, step: "bridge" }, options);
  return { hash };
}

/** Waits until a sent activation is in the balance. */
export async function untilCredited(
  connection: Connection,
  { chainId, hash, step }: { chainId: number; hash: Hash; step: Step },
  options: SendOptions = {},
): Promise<void> {
  const { onProgress, signal } = options;
  const clients = await chainClients(connection, chainId);
  const { entry, reader } = clients;
  const receipt = await untilFinal(connection, { chainId, hash, step }, options);
  const { from: sender, blockNumber } = receipt;
  // The transaction of a smart account is sent by another.
  const from = connection.account?.type === "wallet" ? connection.account.address : sender;
  const arrived = entry.role === "primary" ? null : forgottenSearch(connection, { from: clients, receipt });
  for (let told = ""; ; await pause(connection.pollMs, signal)) {
    const { activations, unknown_chain_ids: unknown } = await readActivations(connection, from);
    const own = activations.find(({ transaction }) => transaction.toLowerCase() === hash.toLowerCase());
    if (own?.stage === "discarded") {
      throw new ContractError(`The timelock has removed the activation ${hash}.`, { hash });
    }
    // The gateway lists activations on the primary chain only after their credit, and not for ever.
    const ownBlock = own !== undefined ? null : arrived === null ? blockNumber : await arrived();
    const isCredited = own?.stage === "credited" || (ownBlock !== null && (await hasRead(connection, ownBlock)));
    if (isCredited) return onProgress?.({ stage: "credited", step, hash });
    if (own === undefined && unknown.includes(chainId)) {
      const message = `The gateway does not read chain ${chainId}: look at the balance to see when it arrives.`;
      throw new ClientError("chain_unavailable", message);
    }
    const at = own?.stage ?? "sent";
    const next = `${at} ${own?.waits_for ?? ""}`;
    if (next !== told) {
      const [waitsFor, dueAt] = [own?.waits_for ?? null, own?.due_at ?? null];
      onProgress?.({ stage: "waiting", step, hash, at, waitsFor, dueAt });
    }
    told = next;
    // Throws if the block was replaced and the transaction is gone.
    await reader.getTransactionReceipt({ hash });
  }
}

/** Polls between two searches of the primary chain for an activation that the gateway does not list. */
const POLLS_BETWEEN_SEARCHES = 30;
/** Polls before the first search: the gateway reads most messages earlier. */
const POLLS_BEFORE_SEARCH = 5;

/**
 * Makes a search for an activation from afar that the gateway does not list: it has not read it yet, or it forgot it a
 * day after it was credited. Gives its block on the primary chain.
 */
function forgottenSearch(
  connection: Connection,
  given: { from: ChainClients; receipt: TransactionReceipt },
): () => Promise<bigint | null> {
  let search: Promise<() => Promise<Arrival | null>> | undefined;
  let block: bigint | null = null;
  let polls = 0;
  return async () => {
    polls += 1;
    if (block !== null || polls % POLLS_BETWEEN_SEARCHES !== POLLS_BEFORE_SEARCH) return block;
    try {
      search ??= arrivalSearch(connection, given);
      const found = await (await search)();
      if (found?.stage === "delivered") block = found.block;
    } catch (error) {
      if (error instanceof ContractError) throw error;
      // There is no node of the primary chain, so only the gateway can tell.
      search = undefined;
    }
    return block;
  };
}

export type Activations = z.infer<typeof activationsAnswer>["data"];

/** The activations on their way to an address, from every chain. */
export async function readActivations(connection: Connection, address: `0x${string}`): Promise<Activations> {
  return (await request<{ data: Activations }>(connection, `/api/v1/activations/${address}`)).data;
}

export type Status = z.infer<typeof statusAnswer>["data"];

/** The day's ceiling, the last processed block, and the token on every chain. */
export async function readStatus(connection: Connection): Promise<Status> {
  return (await request<{ data: Status }>(connection, "/api/v1/status")).data;
}

async function hasRead(connection: Connection, block: bigint): Promise<boolean> {
  const { following } = await readStatus(connection);
  return following.block !== null && BigInt(following.block) >= block;
}

function burnOf(connection: Connection, { amountToken }: { amountToken: bigint }) {
  return { moves: { from: requireAccount(connection).address, to: zeroAddress, amountToken } };
}

/** The endpoint id of the chain at LayerZero. */
export function eidOf({ chain_id: id, layerzero_eid: eid }: Awaited<ReturnType<typeof readChain>>): number {
  if (eid !== null) return eid;
  throw new ClientError("unknown_chain", `The gateway names no LayerZero endpoint id of chain ${id}.`);
}
