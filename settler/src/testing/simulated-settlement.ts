import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { CHUNK_BYTES, decodeChunk, encodeChunk, recordLeaf, type SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { merkleRootOf, pureKeccak } from "@inference/protocol/merkle-tree";
import {
  bytesToHex,
  concat,
  decodeFunctionData,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
  hexToBytes,
} from "viem";

/**
 * A model of the settlement contract: its rules of credit, ceilings and chunks. It has no agents, so that the contract
 * pays no part. `simulated-chain.test.ts` holds it against the contract. A state never changes: a call makes another one.
 */
export type SettlementState = {
  readonly ceilingNanoUsd: bigint;
  /** The last day on which the ceiling changed, and the ceiling at the end of the day before. */
  readonly ceilingDay: bigint;
  readonly ceilingAtMidnight: bigint;
  readonly totalDebitedNanoUsd: bigint;
  readonly activationCount: bigint;
  readonly totalActivated: bigint;
  /** By root. */
  readonly blocks: ReadonlyMap<Hex, bigint>;
  readonly paidNanoUsd: ReadonlyMap<bigint, bigint>;
  /** By lower-case address. */
  readonly accounts: ReadonlyMap<string, AccountTotals>;
  /** The records that were booked, by account: for the audit, the contract has none. */
  readonly booked: ReadonlyMap<string, readonly SettleRecord[]>;
};

export type AccountTotals = { activatedNanoUsd: bigint; debitedNanoUsd: bigint };
export type Log = { topics: Hex[]; data: Hex };
export type Outcome = { state: SettlementState; logs: Log[] } | { revert: Hex };
/** Of `settle`. */
export type Chunk = { day: bigint; records: readonly SettleRecord[] };
/** The block that a call is in, with its time in seconds. */
export type Terms = { isSettler: boolean; block: bigint; time: bigint };

const DAY = 86_400n;
const GRACE = 21_600n;
const NANO_USD_PER_TOKEN_UNIT = 1_000n;
/** There is no contract at it. */
const TOKEN: Address = `0x${"70".repeat(20)}`;
const NOTHING: AccountTotals = { activatedNanoUsd: 0n, debitedNanoUsd: 0n };

export const firstState: SettlementState = {
  ceilingNanoUsd: 50_000_000_000n,
  ceilingDay: 0n,
  ceilingAtMidnight: 0n,
  totalDebitedNanoUsd: 0n,
  activationCount: 0n,
  totalActivated: 0n,
  blocks: new Map(),
  paidNanoUsd: new Map(),
  accounts: new Map(),
  booked: new Map(),
};

export function settle(state: SettlementState, { day, records }: Chunk, terms: Terms): Outcome {
  if (!terms.isSettler) return refuse("OnlySettler");
  const today = terms.time / DAY;
  if (!isOpen(day, today, terms.time)) return refuse("WrongDay", [day, today]);
  const paid = state.paidNanoUsd.get(day) ?? 0n;
  const ceiling = ceilingOn(state, day, today);
  if (records.length > 0 && paid >= ceiling) return refuse("CeilingReached", [day]);
  const accounts = new Map(state.accounts);
  const booked: SettleRecord[] = [];
  let room = ceiling > paid ? ceiling - paid : 0n;
  for (const record of records) {
    const { activatedNanoUsd, debitedNanoUsd } = accounts.get(record.account) ?? NOTHING;
    const asked = [BigInt(record.amountNanoUsd), activatedNanoUsd - debitedNanoUsd, room];
    const amount = asked.reduce((least, one) => (one < least ? one : least));
    if (BigInt(record.beforeNanoUsd) !== debitedNanoUsd || amount === 0n) continue;
    accounts.set(record.account, { activatedNanoUsd, debitedNanoUsd: debitedNanoUsd + amount });
    booked.push({ ...record, amountNanoUsd: Number(amount), parts: [] });
    room -= amount;
  }
  if (booked.length === 0) return { state, logs: [] };
  const total = booked.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
  const totalDebitedNanoUsd = state.totalDebitedNanoUsd + total;
  const leaves = booked.map((record) => recordLeaf(record));
  const root = bytesToHex(merkleRootOf(leaves, pureKeccak));
  // The table of agents is that of the call.
  const head = encodeChunk(records).slice(0, 1 + CHUNK_BYTES.agent * agentDays(records));
  const data = concat([bytesToHex(head), bytesToHex(encodeChunk(booked).slice(1))]);
  return {
    state: {
      ...{ ...state, totalDebitedNanoUsd, accounts, booked: withRecords(state.booked, booked) },
      blocks: new Map(state.blocks).set(root, terms.block),
      paidNanoUsd: new Map(state.paidNanoUsd).set(day, paid + total),
    },
    logs: [logOf("Settled", { day: Number(day), root }, [total, paid + total, totalDebitedNanoUsd, data])],
  };
}

function withRecords(before: SettlementState["booked"], records: readonly SettleRecord[]): SettlementState["booked"] {
  const booked = new Map(before);
  for (const record of records) booked.set(record.account, [...(booked.get(record.account) ?? []), record]);
  return booked;
}

function agentDays(records: readonly SettleRecord[]): number {
  return new Set(records.flatMap(({ parts }) => parts.map(({ agent, day }) => `${agent} ${day}`))).size;
}

export function activate(
  state: SettlementState,
  { account, from, amountToken }: { account: Address; from: Address; amountToken: bigint },
): { state: SettlementState; logs: Log[] } {
  const key = account.toLowerCase();
  const id = state.activationCount + 1n;
  const totalActivated = state.totalActivated + amountToken;
  const before = totalsOf(state, key);
  const activatedNanoUsd = before.activatedNanoUsd + amountToken * NANO_USD_PER_TOKEN_UNIT;
  const accounts = new Map(state.accounts).set(key, { ...before, activatedNanoUsd });
  const plain = [amountToken, totalActivated, activatedNanoUsd, 0, NO_GUID];
  return {
    state: { ...state, activationCount: id, totalActivated, accounts },
    logs: [logOf("Activated", { id, account, from }, plain)],
  };
}

const NO_GUID = `0x${"0".repeat(64)}`;

/** By its guardian or its timelock. */
export function setCeiling(
  state: SettlementState,
  toNanoUsd: bigint,
  time: bigint,
): { state: SettlementState; logs: Log[] } {
  const today = time / DAY;
  const first = state.ceilingDay === today ? {} : { ceilingDay: today, ceilingAtMidnight: state.ceilingNanoUsd };
  return {
    state: { ...state, ...first, ceilingNanoUsd: toNanoUsd },
    logs: [logOf("CeilingChanged", {}, [state.ceilingNanoUsd, toNanoUsd])],
  };
}

/** The contract's answer to a call, `settle` included. Functions that the model lacks revert without data. */
export function call(state: SettlementState, data: Hex, terms: Terms): { result: Hex } | { revert: Hex } {
  const { functionName, args } = decodeFunctionData({ abi: inferenceSettlementAbi, data });
  const [first] = (args ?? []) as readonly unknown[];
  const answer = (result: unknown) => ({
    result: encodeFunctionResult({ abi: inferenceSettlementAbi, functionName, result } as never),
  });
  switch (functionName) {
    case "settle": {
      const outcome = settle(state, chunkOf(data) ?? { day: 0n, records: [] }, terms);
      return "revert" in outcome ? outcome : { result: "0x" };
    }
    case "ceilingOn": {
      const today = terms.time / DAY;
      if (!isOpen(first as bigint, today, terms.time)) return refuse("WrongDay", [first as bigint, today]);
      return answer(ceilingOn(state, first as bigint, today));
    }
    case "TOKEN":
      return answer(TOKEN);
    case "blockOf":
      return answer(state.blocks.get(first as Hex) ?? 0n);
    case "accountOf": {
      const { activatedNanoUsd, debitedNanoUsd } = totalsOf(state, String(first));
      return answer([activatedNanoUsd, debitedNanoUsd, 0n]);
    }
    case "paidNanoUsd":
      return answer(state.paidNanoUsd.get(first as bigint) ?? 0n);
    case "totalDebitedNanoUsd":
    case "activationCount":
    case "totalActivated":
    case "ceilingNanoUsd":
      return answer(state[functionName]);
    default:
      return { revert: "0x" };
  }
}

export function totalsOf({ accounts }: SettlementState, account: string): AccountTotals {
  return accounts.get(account.toLowerCase()) ?? NOTHING;
}

/** A little more than a chunk uses, as `contracts/snapshots` has it measured. */
export function gasOf({ records }: Chunk): bigint {
  return 100_000n + 8_000n * BigInt(records.length);
}

/** Undefined if the data is no call of `settle`. */
export function chunkOf(data: Hex): Chunk | undefined {
  if (data === "0x") return undefined;
  const { functionName, args } = decodeFunctionData({ abi: inferenceSettlementAbi, data });
  if (functionName !== "settle") return undefined;
  return { day: BigInt(args[0]), records: decodeChunk(hexToBytes(args[1])) };
}

/** Whether a day's ceiling can still pay. */
function isOpen(day: bigint, today: bigint, time: bigint): boolean {
  return day === today || (day === today - 1n && time % DAY < GRACE);
}

/** Yesterday's is the one with which it ended, or today's if that is lower. */
function ceilingOn({ ceilingNanoUsd, ceilingAtMidnight, ceilingDay }: SettlementState, day: bigint, today: bigint) {
  const isOfYesterday = day < today && ceilingDay === today && ceilingAtMidnight < ceilingNanoUsd;
  return isOfYesterday ? ceilingAtMidnight : ceilingNanoUsd;
}

type EventName = "Activated" | "Settled" | "CeilingChanged";

function logOf(eventName: EventName, indexed: object, plain: readonly unknown[]): Log {
  const event = inferenceSettlementAbi.find((item) => item.type === "event" && item.name === eventName);
  const inputs = event?.type === "event" ? event.inputs.filter((input) => !("indexed" in input && input.indexed)) : [];
  const topics = encodeEventTopics({ abi: inferenceSettlementAbi, eventName, args: indexed } as never) as Hex[];
  return { topics, data: encodeAbiParameters(inputs, plain as never) };
}

function refuse(errorName: string, args: readonly unknown[] = []): { revert: Hex } {
  return { revert: encodeErrorResult({ abi: inferenceSettlementAbi, errorName, args } as never) };
}
