import type { Alarm } from "@inference/chain/alarm";
import type { Heads } from "@inference/chain/heads";
import type { BatchView } from "@inference/ledger/batch";
import type { LedgerClient } from "@inference/ledger/client";
import type { BatchName, Command, ReplyOf } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import type { Settlement } from "@inference/protocol/use-leaf";
import type { SettlementContract } from "./settlement-contract.ts";

/** What a step of the settler came to. `next`: there may be more to do at once. */
export type Step =
  | { outcome: "next" }
  | { outcome: "idle" | "posting" }
  | { outcome: "waiting" | "halted"; reason: string };

export const next: Step = { outcome: "next" };

export type SettlerLimits = {
  /** How long uses wait for others before they are posted. */
  intervalMs: number;
  /** Uses in a batch. Building it keeps the process busy for 0.1 ms a use. */
  maxUses: number;
  /** Entries in a batch, and serves among them: the contract takes no more. */
  maxEntries: number;
  maxServes: number;
  /** After this time a transaction in no block is replaced by one with a higher fee. */
  stuckAfterMs: number;
  /** Never paid for a unit of gas. */
  maxFeePerGasWei: bigint;
};

/** What the steps of one settler share. */
export type Desk = {
  readonly contract: SettlementContract;
  readonly settlement: Settlement;
  /** Of the settler's account. */
  readonly address: Address;
  readonly ledger: LedgerClient;
  /** Of the chain, in the ledger. */
  readonly partition: Partition;
  readonly limits: SettlerLimits;
  readonly alarm: Alarm;
  now(): number;
  /** Durable when it resolves. Without a partition: in the chain's. */
  run<C extends Command>(command: C, where?: Partition): Promise<ReplyOf<C>>;
  waiting(reason: string): Step;
  halted(reason: string): Step;
  /** The chain's time, or ours where it makes no blocks: the next one has ours. */
  timeOf(heads: Heads): number;
  /** Smaller after a batch that no day's ceiling had room for. */
  maxUses: number;
  /** A journal takes a batch for another one by this time, also where the clock stands still. */
  lastOpenedAt: number;
};

export function nameOf({ batch, openedAt }: BatchView): BatchName {
  return { batch, openedAt };
}
