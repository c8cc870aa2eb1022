import { proveAuthorization } from "@inference/chain/event-proof";
import { gaslessTopUpAbi } from "@inference/protocol/abi/gasless-top-up";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { x402DoorAbi } from "@inference/protocol/abi/x402-door";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { topUpStruct } from "@inference/protocol/top-up";
import { paymentBody, topUpBody } from "@inference/protocol/wire/top-up";
import { type Abi, type Address, type Hex, parseSignature } from "viem";
import type { RelayChain } from "./relay-chain.ts";
import type { RelayRow } from "./store.ts";

/** What the chain says of a payment. */
export type Look =
  | { outcome: "made"; transaction: Hex | null; block: number | null }
  | { outcome: "over"; reason: string }
  | Due;
export type Due = {
  outcome: "due";
  call: { address: Address; abi: Abi; functionName: string; args: readonly unknown[] };
  /** Whether the chain refuses it after `expiresAt`. */
  expires: boolean;
  /** Reverts after which it can never be made, with the reason for people. */
  never: ReadonlyMap<string, string>;
};

/** Maximum blocks of one request for events. */
const MAX_BLOCKS = 2_000;

/** Reads whether a payment was made, by whomever, and which call makes it if not. Throws if a node does not answer. */
export function look(chain: RelayChain, row: RelayRow, head: bigint): Promise<Look> {
  return row.kind === "top-up" ? lookAtTopUp(chain, row, head) : lookAtPayment(chain, row, head);
}

async function lookAtTopUp(chain: RelayChain, row: RelayRow, head: bigint): Promise<Look> {
  const { top_up: terms, signature, permit } = topUpBody.parse(JSON.parse(row.body));
  const { method, contract, stablecoin } = await chain.quote();
  const id = row.id as Hex;
  const relay = { address: contract as Address, abi: gaslessTopUpAbi } as const;
  const isUsed =
    method === "permit"
      ? await chain.reader.readContract({ ...relay, functionName: "isMade", args: [id] })
      : await isAuthorizationUsed(chain, stablecoin.address, { from: terms.owner, nonce: id });
  if (isUsed) {
    const found = await firstEvent(row, head, (blocks) =>
      chain.reader.getContractEvents({ ...relay, eventName: "ToppedUp", args: { id }, ...blocks }),
    );
    if (found !== undefined) return made(found);
    if (method === "permit") return { outcome: "made", transaction: null, block: null };
    return { outcome: "over", reason: "The owner canceled this authorization, or used its nonce before." };
  }
  const struct = topUpStruct(terms);
  if (method === "authorization") return due(relay, "topUpWithAuthorization", [struct, signature]);
  if (permit === undefined) return { outcome: "over", reason: "The permit is missing." };
  return due(relay, "topUpWithPermit", [struct, signature, { deadline: BigInt(permit.deadline), ...split(permit) }]);
}

async function lookAtPayment(chain: RelayChain, row: RelayRow, head: bigint): Promise<Look> {
  const { authorization, signature } = paymentBody.parse(JSON.parse(row.body));
  const from = authorization.from as Address;
  const nonce = authorization.nonce as Hex;
  const door = { address: chain.at("x402Door"), abi: x402DoorAbi } as const;
  if (await chain.reader.readContract({ ...door, functionName: "isCredited", args: [from, nonce] })) {
    const found = await firstEvent(row, head, (blocks) =>
      chain.reader.getContractEvents({ ...door, eventName: "Credited", args: { from, nonce }, ...blocks }),
    );
    return found === undefined ? { outcome: "made", transaction: null, block: null } : made(found);
  }
  const stablecoin = (await chain.quote()).stablecoin.address as Address;
  if (!(await isAuthorizationUsed(chain, stablecoin, { from, nonce }))) {
    const { value, validAfter, validBefore } = authorization;
    const given = {
      from,
      nonce,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    };
    return due(door, "settle", [given, signature]);
  }
  // Somebody executed it without the door: its event proves it, from the next block on.
  const used = await firstEvent(row, head, (blocks) =>
    chain.reader.getContractEvents({
      ...{ address: stablecoin, abi: stablecoinAbi, eventName: "AuthorizationUsed" },
      ...{ args: { authorizer: from, nonce }, ...blocks },
    }),
  );
  if (used === undefined)
    return { outcome: "over", reason: "The payer canceled this authorization. Nothing was paid." };
  const place = { stablecoin, from, nonce, transaction: used.transactionHash };
  const proof = await proveAuthorization(chain.client, place);
  if (proof === null) throw new ChainUnavailable("the node does not show the transaction of an event");
  return { ...due(door, "claim", [proof]), expires: false, never: CLAIM_NEVER };
}

const CLAIM_NEVER = new Map([
  ["NotAPayment", "The authorization was used for another payment than to the door."],
  ["UnknownBlock", "It was executed without the door, too long ago to be proven. Ask the operator."],
]);

type Blocks = { fromBlock: bigint; toBlock: bigint };
type Place = { transactionHash: Hex; blockNumber: bigint };

async function firstEvent(
  { fromBlock }: RelayRow,
  head: bigint,
  read: (blocks: Blocks) => Promise<readonly Place[]>,
): Promise<Place | undefined> {
  for (let to = head; to >= BigInt(fromBlock); to -= BigInt(MAX_BLOCKS)) {
    const from = to - BigInt(MAX_BLOCKS) + 1n;
    const events = await read({ fromBlock: from > BigInt(fromBlock) ? from : BigInt(fromBlock), toBlock: to });
    if (events[0] !== undefined) return events[0];
  }
  return undefined;
}

function isAuthorizationUsed(
  { reader }: RelayChain,
  stablecoin: string,
  { from, nonce }: { from: string; nonce: Hex },
): Promise<boolean> {
  const contract = { address: stablecoin as Address, abi: stablecoinAbi } as const;
  return reader.readContract({ ...contract, functionName: "authorizationState", args: [from as Address, nonce] });
}

function due(contract: { address: Address; abi: Abi }, functionName: string, args: readonly unknown[]): Due {
  return { outcome: "due", call: { ...contract, functionName, args }, expires: true, never: new Map() };
}

function made({ transactionHash, blockNumber }: Place): Look {
  return { outcome: "made", transaction: transactionHash, block: Number(blockNumber) };
}

/** A permit that is no signature fails in the contract, which then asks the allowance. */
function split({ signature }: { signature: Hex }): { v: number; r: Hex; s: Hex } {
  const { r, s, yParity } = parseSignature(signature);
  return { r, s, v: 27 + yParity };
}
