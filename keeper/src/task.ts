import type { Abi, Address } from "viem";
import type { Budget } from "./budget.ts";
import type { KeeperChain } from "./keeper-chain.ts";

/** A call that is open to anyone. */
export type Task = {
  /** The name in the log. */
  name: string;
  chain: KeeperChain;
  call: { address: Address; abi: Abi; functionName: string; args: readonly unknown[] };
  /** The value to send with the call, in the chain's coin; none if absent. */
  valueWei?(): Promise<bigint>;
  /** The least result that is worth the gas, in token units; any if absent. */
  atLeast?: bigint;
  /** The budget that it spends; the keeper's if absent. */
  budget?: Budget;
  /** Called after a try: its transaction is in a block, or was not sent. */
  onTried?(outcome: "done" | "reverted" | "not sent"): void;
  /** Errors of the contract if the call is too early, or somebody else has made it. */
  notDue: readonly string[];
};

/** Something that waits longer than it should. */
export type Delay = { what: "flush" | "in flight" | "waiting"; chain: string; ageSeconds: bigint };

/** The calls to make now, and the delays. */
export type Found = { tasks: Task[]; delays?: Delay[] };

/** Looks for tasks of one kind. */
export type TaskFinder = {
  /** The chain that it reads, for the log. */
  chain: KeeperChain;
  find(): Promise<Found>;
};
