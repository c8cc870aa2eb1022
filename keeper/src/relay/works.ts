import { proveAuthorization } from "@inference/chain/event-proof";
import { gaslessTopUpAbi } from "@inference/protocol/abi/gasless-top-up";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { x402DoorAbi } from "@inference/protocol/abi/x402-door";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { topUpStruct } from "@inference/protocol/top-up";
import { type PaymentBody, paymentBody, type TopUpBody, topUpBody } from "@inference/protocol/wire/top-up";
import { type Abi, type Address, encodeFunctionData, type Hex, isAddressEqual, size, slice } from "viem";
import { type Event, findEvents, type Wanted } from "./events.ts";
import type { RelayChain } from "./relay-chain.ts";
import type { RelayRow } from "./store.ts";

/** What the chain says of a payment at one block. */
export type Look =
  /** It was made. No transaction: its event is not among the blocks that were read. */
  | { outcome: "made"; transaction: Hex | null; block: number | null }
  /** Proven by an event: it can never be made. */
  | { outcome: "over"; reason: string }
  /** Its nonce is used, and no event of the blocks that were read says for what. */
  | { outcome: "unknown" }
  /** Its dollars are in the door, and the relay does not claim them. */
  | { outcome: "left"; reason: string }
  | { outcome: "wait"; why: string }
  | Due;
export type Due = {
  outcome: "due";
  call: { address: Address; abi: Abi; functionName: string; args: readonly unknown[] };
  /** Whether the dollars are in the door already: the chain then takes the call after `expiresAt` too. */
  isClaim: boolean;
};

type Looked = Pick<RelayRow, "id" | "kind" | "body" | "fromBlock">;

/** Reads whether a payment was made, by whomever, and which call makes it if not. Throws if a node does not answer. */
export async function look(chain: RelayChain, row: Looked, head: bigint): Promise<Look> {
  return row.kind === "top-up"
    ? lookAtTopUp(chain, row, topUpBody.parse(JSON.parse(row.body)), head)
    : lookAtPayment(chain, row, paymentBody.parse(JSON.parse(row.body)), head);
}

async function lookAtTopUp(chain: RelayChain, row: Looked, body: TopUpBody, head: bigint): Promise<Look> {
  const { top_up: terms, signature, permit } = body;
  const { method, contract, stablecoin } = await chain.quote();
  const id = row.id as Hex;
  const relay = { address: contract as Address, abi: gaslessTopUpAbi } as const;
  const wanted = { stablecoin: stablecoin.address as Address, contract: relay.address, owner: terms.owner, nonce: id };
  const isUsed =
    method === "permit"
      ? await chain.reader.readContract({ ...relay, functionName: "isMade", args: [id], blockNumber: head })
      : await isAuthorizationUsed(chain, wanted, head);
  if (!isUsed) {
    const struct = topUpStruct(terms);
    if (method === "authorization") return due(relay, "topUpWithAuthorization", [struct, signature]);
    if (permit === undefined) return { outcome: "over", reason: "The permit is missing." };
    return due(relay, "topUpWithPermit", [struct, signature, { deadline: BigInt(permit.deadline), ...split(permit) }]);
  }
  const events = await findEvents(chain, wanted, { from: row.fromBlock, head });
  const made = events.find(({ name }) => name === "ToppedUp");
  if (made !== undefined) return madeBy(made);
  return method === "permit" ? UNSEEN : usedOtherwise(events);
}

async function lookAtPayment(chain: RelayChain, row: Looked, body: PaymentBody, head: bigint): Promise<Look> {
  const { authorization, signature } = body;
  const { value, validAfter, validBefore } = authorization;
  const from = authorization.from.toLowerCase() as Address;
  const nonce = authorization.nonce.toLowerCase() as Hex;
  const door = { address: chain.at("x402Door"), abi: x402DoorAbi } as const;
  const stablecoin = (await chain.quote()).stablecoin.address as Address;
  const wanted = { stablecoin, contract: door.address, owner: from, nonce };
  const isCredited = { ...door, functionName: "isCredited", args: [from, nonce] } as const;
  const [isDone, isUsed] = await Promise.all([
    chain.reader.readContract({ ...isCredited, blockNumber: head }),
    isAuthorizationUsed(chain, wanted, head),
  ]);
  if (isDone) {
    const events = await findEvents(chain, wanted, { from: row.fromBlock, head });
    const credited = events.find(({ name }) => name === "Credited");
    return credited === undefined ? UNSEEN : madeBy(credited);
  }
  if (!isUsed) {
    const given = { value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) };
    return due(door, "settle", [{ from, nonce, ...given }, signature]);
  }
  const events = await findEvents(chain, wanted, { from: row.fromBlock, head });
  const used = events.find(({ name }) => name === "AuthorizationUsed");
  if (used === undefined || !isPaid(used, events, { to: door.address, value: BigInt(value) })) {
    return usedOtherwise(events);
  }
  // Its proof is the hash of its block, which the block after it knows.
  if (used.block >= head) {
    return { outcome: "wait", why: "It was executed without the door, and is claimed in the next block." };
  }
  const proof = await proveAuthorization(chain.client, { stablecoin, from, nonce, transaction: used.transaction });
  if (proof === null) throw new ChainUnavailable("the node does not show the transaction of an event");
  const claim = due(door, "claim", [proof]);
  const bytes = size(encodeFunctionData(claim.call));
  if (bytes <= MAX_CLAIM_BYTES) return { ...claim, isClaim: true };
  const reason =
    `Somebody executed it without the door, and the proof of ${bytes} bytes is larger than the relay sends. Its ` +
    `dollars wait there. ${bytes <= MAX_POOLED_BYTES ? ANYONE_CLAIMS : NO_ONE_CLAIMS}`;
  return { outcome: "left", reason };
}

/**
 * A claim's call is at most so large. Whoever executes a payment without the door chooses the events around it, and the
 * relay would pay for their proof.
 */
const MAX_CLAIM_BYTES = 32 * 1024;
/** Geth's pool takes transactions of 128 KiB, with signature and fees. */
const MAX_POOLED_BYTES = 127 * 1024;
const ANYONE_CLAIMS = "Anyone can send the proof (`claim`): ask the operator.";
const NO_ONE_CLAIMS =
  "No usual node takes a transaction of this size: ask the operator, who can credit the payer (`activateFor`).";

const UNSEEN: Look = { outcome: "made", transaction: null, block: null };

/** The stablecoin moves the dollars directly after it says that the authorization is used. */
function isPaid(used: Event, events: readonly Event[], { to, value }: { to: Address; value: bigint }): boolean {
  return events.some(
    (event) =>
      event.name === "Transfer" &&
      event.transaction === used.transaction &&
      event.logIndex === used.logIndex + 1 &&
      isAddressEqual(event.to, to) &&
      event.value === value,
  );
}

function usedOtherwise(events: readonly Event[]): Look {
  const names = new Set(events.map(({ name }) => name));
  if (names.has("AuthorizationCanceled")) {
    return { outcome: "over", reason: "The payer canceled this authorization. Nothing was paid." };
  }
  if (!names.has("AuthorizationUsed")) return { outcome: "unknown" };
  return { outcome: "over", reason: "The payer used this nonce for another payment. Nothing was paid with this one." };
}

function isAuthorizationUsed(
  { reader }: RelayChain,
  { stablecoin, owner, nonce }: Wanted,
  blockNumber: bigint,
): Promise<boolean> {
  const contract = { address: stablecoin, abi: stablecoinAbi } as const;
  const args = [owner.toLowerCase() as Address, nonce] as const;
  return reader.readContract({ ...contract, functionName: "authorizationState", args, blockNumber });
}

function due(contract: { address: Address; abi: Abi }, functionName: string, args: readonly unknown[]): Due {
  return { outcome: "due", call: { ...contract, functionName, args }, isClaim: false };
}

function madeBy({ transaction, block }: Event): Look {
  return { outcome: "made", transaction, block: Number(block) };
}

/** A permit that is no signature fails in the contract, which then asks the allowance. */
function split({ signature }: { signature: Hex }): { v: number; r: Hex; s: Hex } {
  return { r: slice(signature, 0, 32), s: slice(signature, 32, 64), v: Number(slice(signature, 64, 65)) };
}
