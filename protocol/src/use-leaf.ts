import { hexToBytes } from "viem";
import type { Address } from "./credential.ts";
import type { RequestId } from "./id.ts";
import { type Keccak, pureKeccak } from "./merkle-tree.ts";
import type { NanoUsd } from "./money.ts";

/** A settled prepaid request with a charge above zero. */
export type SettledUse = {
  receipt: RequestId;
  /** The account's total of all charges after this one: the use is the stretch from `endsAt - cost` to `endsAt`. */
  endsAtNanoUsd: NanoUsd;
  costNanoUsd: NanoUsd;
  /** The UTC day of the request's admission, in days since 1970. */
  dayServed: number;
  /** Absent if the protocol's account served the use. */
  agent?: { token: Address; offerHash: `0x${string}` } | undefined;
  /** The id of the price snapshot: 32 hex digits. */
  snapshot: string;
};

/** The contract that stores the roots. */
export type Settlement = { chainId: number; address: Address };

/**
 * The part of a use that a statement from `beforeNanoUsd` charges. It is less than the cost if another debit paid the
 * rest.
 */
export function chargedOf(use: Pick<SettledUse, "endsAtNanoUsd" | "costNanoUsd">, beforeNanoUsd: NanoUsd): NanoUsd {
  return use.endsAtNanoUsd - Math.max(beforeNanoUsd, use.endsAtNanoUsd - use.costNanoUsd);
}

/** `leafOf` of the settlement contract, for the uses of one account's statement. */
export type LeafOf = (use: SettledUse, beforeNanoUsd: NanoUsd) => Uint8Array;

const WORDS = 11;

/**
 * Hashes the ABI's encoding of (chain id, settlement, account, receipt in ASCII, endsAt, cost, charged, day, server,
 * offer hash, snapshot), a word of 32 bytes each, and then the hash: no inner node of the tree passes as a leaf.
 *
 * @returns A function that uses one buffer for all leaves.
 */
export function makeLeafOf({ chainId, address }: Settlement, account: Address, keccak: Keccak = pureKeccak): LeafOf {
  const words = new Uint8Array(WORDS * 32);
  const view = new DataView(words.buffer);
  view.setBigUint64(24, BigInt(chainId));
  words.set(hexToBytes(address), 32 + 12);
  words.set(hexToBytes(account), 2 * 32 + 12);
  return (use, beforeNanoUsd) => {
    writeAscii(words, 3, use.receipt);
    writeAmount(view, 4, use.endsAtNanoUsd);
    writeAmount(view, 5, use.costNanoUsd);
    writeAmount(view, 6, chargedOf(use, beforeNanoUsd));
    writeAmount(view, 7, use.dayServed);
    words.fill(0, 8 * 32);
    if (use.agent !== undefined) {
      words.set(hexToBytes(use.agent.token), 8 * 32 + 12);
      words.set(hexToBytes(use.agent.offerHash), 9 * 32);
    }
    words.set(hexToBytes(`0x${use.snapshot}`), 10 * 32);
    return keccak(keccak(words));
  };
}

/** Pads with zeros on the right. */
function writeAscii(words: Uint8Array, word: number, text: string): void {
  if (text.length > 32) throw new RangeError(`${text} has more than 32 characters`);
  for (let at = 0; at < 32; at++) words[word * 32 + at] = at < text.length ? text.charCodeAt(at) : 0;
}

/** Writes an amount of at most 2^53 in two halves: a BigInt for each would take longer than the hash. */
function writeAmount(view: DataView, word: number, amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`${amount} is no amount of a leaf`);
  view.setUint32(word * 32 + 24, Math.floor(amount / 2 ** 32));
  view.setUint32(word * 32 + 28, amount % 2 ** 32);
}
