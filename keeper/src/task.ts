import type { Abi, Address } from "viem";
import type { KeeperChain } from "./keeper-chain.ts";

/** A call that anyone may make, and that somebody has to. */
export type Task = {
  /** As the log calls it. */
  name: string;
  chain: KeeperChain;
  call: { address: Address; abi: Abi; functionName: string; args: readonly unknown[] };
  /** What is to be sent along, in the chain's coin; nothing if absent. */
  valueWei?(): Promise<bigint>;
  /** What the call must return to be worth its gas, in token units; anything if absent. */
  atLeast?: bigint;
  /** Errors of the contract that say that the call is too early, or was made by somebody else. */
  notDue: readonly string[];
};

/** What has waited longer than it should. */
export type Delay = { what: "flush" | "in flight" | "waiting"; chain: string; ageSeconds: bigint };

/** The calls to make now, and what is late. */
export type Found = { tasks: Task[]; delays: Delay[] };

/** Looks for tasks of one kind. */
export type TaskFinder = {
  /** Where it looks, as the log says if it cannot. */
  chain: KeeperChain;
  find(): Promise<Found>;
};
