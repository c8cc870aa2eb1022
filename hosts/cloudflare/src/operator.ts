import { WorkerEntrypoint } from "cloudflare:workers";
import { chainPartition, type Partition } from "@inference/ledger/partition";
import { type Bindings, objectOf } from "./bindings.ts";
import type { ChainCalls } from "./chain-look.ts";
import { settingsOf } from "./settings.ts";

/** The calls of a partition's object that only an operator makes. */
export type RestoreCalls = {
  beginAt(toMs: number): Promise<void>;
  end(): Promise<void>;
  restored(): Promise<void>;
};

/**
 * What an operator does after something was lost. It has no public route: another Worker of the same account calls it
 * through a service binding with the entrypoint `Operator`.
 */
export class Operator extends WorkerEntrypoint<Bindings> {
  /**
   * Puts the object of an account or identity back to a time in the last 30 days. An account then changes no money
   * before it has heard the chain's totals.
   */
  async restore(partition: Partition, toMs: number): Promise<void> {
    const object = () => objectOf<RestoreCalls>(this.env.PARTITION, partition, this.env);
    if (!/^(account|identity):/.test(partition)) {
      throw new Error(`${partition} is never restored from a copy. Call reread() for the chain's partition.`);
    }
    await object().beginAt(toMs);
    // The object ends before it can answer, so the call always fails.
    await object()
      .end()
      .catch(() => undefined);
    await object().restored();
  }

  /** Empties the chain's partition, which the primary chain is then read into from its first block. */
  async reread(): Promise<void> {
    const chain = chainPartition(settingsOf(this.env).PRIMARY_CHAIN_ID);
    await objectOf<ChainCalls>(this.env.CHAIN, chain, this.env).reread();
  }
}
