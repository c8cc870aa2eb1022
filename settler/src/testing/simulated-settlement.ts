import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import {
  type ContractFunctionArgs,
  decodeFunctionData,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
} from "viem";

/**
 * A model of the settlement contract: its rules of credit, ceilings and batches, for batches without serves.
 * `simulated-chain.test.ts` holds it against the contract itself. A state is never changed: a call makes another one.
 */
export type SettlementState = {
  readonly ceilingNanoUsd: bigint;
  /** The last day on which the ceiling changed, and the ceiling at the end of the day before. */
  readonly ceilingDay: bigint;
  readonly ceilingAtMidnight: bigint;
  readonly batchCount: bigint;
  readonly totalDebitedNanoUsd: bigint;
  readonly activationCount: bigint;
  readonly totalActivated: bigint;
  readonly roots: ReadonlyMap<bigint, Hex>;
  readonly paidNanoUsd: ReadonlyMap<bigint, bigint>;
  /** By lower-case address. */
  readonly creditNanoUsd: ReadonlyMap<string, bigint>;
};

export type Batch = ContractFunctionArgs<typeof inferenceSettlementAbi, "nonpayable", "settle">[0];
export type Log = { topics: Hex[]; data: Hex };
export type Outcome = { state: SettlementState; logs: Log[] } | { revert: Hex };

const DAY = 86_400n;
const GRACE = 21_600n;
const MAX_BATCH_ENTRIES = 200n;
const NANO_USD_PER_TOKEN_UNIT = 1_000n;
const NO_ROOT = `0x${"0".repeat(64)}`;

export const firstState: SettlementState = {
  ceilingNanoUsd: 50_000_000_000n,
  ceilingDay: 0n,
  ceilingAtMidnight: 0n,
  batchCount: 0n,
  totalDebitedNanoUsd: 0n,
  activationCount: 0n,
  totalActivated: 0n,
  roots: new Map(),
  paidNanoUsd: new Map(),
  creditNanoUsd: new Map(),
};

/** @param time Of the block, in seconds. */
export function settle(state: SettlementState, batch: Batch, isSettler: boolean, time: bigint): Outcome {
  if (!isSettler) return refuse("OnlySettler");
  const expected = state.batchCount + 1n;
  if (batch.id !== expected) return refuse("WrongBatch", [expected, batch.id]);
  const entries = BigInt(batch.debits.length + batch.serves.length);
  if (entries === 0n || entries > MAX_BATCH_ENTRIES) return refuse("WrongBatchSize", [entries]);
  if (batch.serves.length > 0) throw new Error("the model has no agents");
  if (batch.root === NO_ROOT) return refuse("NoRoot");
  const today = time / DAY;
  const isYesterdayInGrace = batch.day === today - 1n && time % DAY < GRACE;
  if (batch.day !== today && !isYesterdayInGrace) return refuse("WrongDay", [batch.day, today]);

  const credit = new Map(state.creditNanoUsd);
  const logs: Log[] = [];
  let total = 0n;
  for (const { account, amountNanoUsd } of batch.debits) {
    const before = credit.get(account.toLowerCase()) ?? 0n;
    if (amountNanoUsd > before) return refuse("InsufficientCredit", [account, amountNanoUsd, before]);
    credit.set(account.toLowerCase(), before - amountNanoUsd);
    logs.push(logOf("Debited", { batch: batch.id, account }, [amountNanoUsd, before - amountNanoUsd]));
    total += amountNanoUsd;
  }
  const ceiling = ceilingOn(state, batch.day, today);
  const paid = state.paidNanoUsd.get(batch.day) ?? 0n;
  if (paid + total > ceiling) return refuse("CeilingReached", [batch.day, total, ceiling > paid ? ceiling - paid : 0n]);
  const totalDebitedNanoUsd = state.totalDebitedNanoUsd + total;
  const { id, day, root } = batch;
  logs.push(logOf("Settled", { id, day }, [root, total, paid + total, totalDebitedNanoUsd]));
  return {
    state: {
      ...state,
      ...{ batchCount: id, totalDebitedNanoUsd, creditNanoUsd: credit },
      roots: new Map(state.roots).set(id, root),
      paidNanoUsd: new Map(state.paidNanoUsd).set(day, paid + total),
    },
    logs,
  };
}

export function activate(
  state: SettlementState,
  { account, from, amountToken }: { account: Address; from: Address; amountToken: bigint },
): { state: SettlementState; logs: Log[] } {
  const key = account.toLowerCase();
  const id = state.activationCount + 1n;
  const totalActivated = state.totalActivated + amountToken;
  const creditAfter = (state.creditNanoUsd.get(key) ?? 0n) + amountToken * NANO_USD_PER_TOKEN_UNIT;
  const creditNanoUsd = new Map(state.creditNanoUsd).set(key, creditAfter);
  const plain = [amountToken, totalActivated, creditAfter, 0, NO_ROOT];
  return {
    state: { ...state, activationCount: id, totalActivated, creditNanoUsd },
    logs: [logOf("Activated", { id, account, from }, plain)],
  };
}

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

/** What the contract answers to a call, `settle` among them; reverts with no data for what the model does not have. */
export function call(
  state: SettlementState,
  data: Hex,
  { isSettler, time }: { isSettler: boolean; time: bigint },
): { result: Hex } | { revert: Hex } {
  const { functionName, args } = decodeFunctionData({ abi: inferenceSettlementAbi, data });
  const [first] = (args ?? []) as readonly unknown[];
  const answer = (result: unknown) => ({
    result: encodeFunctionResult({ abi: inferenceSettlementAbi, functionName, result } as never),
  });
  switch (functionName) {
    case "settle": {
      const outcome = settle(state, first as Batch, isSettler, time);
      return "revert" in outcome ? outcome : { result: "0x" };
    }
    case "rootOf":
      return answer(state.roots.get(first as bigint) ?? NO_ROOT);
    case "creditNanoUsd":
      return answer(state.creditNanoUsd.get(String(first).toLowerCase()) ?? 0n);
    case "paidNanoUsd":
      return answer(state.paidNanoUsd.get(first as bigint) ?? 0n);
    case "batchCount":
    case "totalDebitedNanoUsd":
    case "activationCount":
    case "totalActivated":
    case "ceilingNanoUsd":
      return answer(state[functionName]);
    default:
      return { revert: "0x" };
  }
}

/** Of a batch, as `contracts/snapshots` has it measured, and a little more than it uses. */
export function gasOf(batch: Batch): bigint {
  return 69_100n + 8_513n * BigInt(batch.debits.length);
}

export function batchOf(data: Hex): Batch | undefined {
  const { functionName, args } = decodeFunctionData({ abi: inferenceSettlementAbi, data });
  return functionName === "settle" ? args[0] : undefined;
}

function ceilingOn(state: SettlementState, day: bigint, today: bigint): bigint {
  const { ceilingNanoUsd, ceilingAtMidnight, ceilingDay } = state;
  const isLowered = day !== today && ceilingDay === today && ceilingAtMidnight < ceilingNanoUsd;
  return isLowered ? ceilingAtMidnight : ceilingNanoUsd;
}

function refuse(errorName: string, args: readonly unknown[] = []): { revert: Hex } {
  return { revert: encodeErrorResult({ abi: inferenceSettlementAbi, errorName, args } as never) };
}

function logOf(eventName: string, args: object, plain: readonly unknown[]): Log {
  const event = inferenceSettlementAbi.find((item) => item.type === "event" && item.name === eventName);
  const unindexed = event?.type === "event" ? event.inputs.filter((input) => input.indexed !== true) : [];
  return {
    topics: encodeEventTopics({ abi: inferenceSettlementAbi, eventName, args } as never) as Hex[],
    data: encodeAbiParameters(unindexed, plain as never),
  };
}
