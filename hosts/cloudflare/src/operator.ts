import { WorkerEntrypoint } from "cloudflare:workers";
import { emptyLimit, tellAgain } from "@inference/gateway/jobs/tell-again";
import { isAgent, type Partition, restorable } from "@inference/ledger/partition";
import { type Bindings, objectOf } from "./bindings.ts";
import type { ChainCalls } from "./chain-look.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { objectSettingsOf } from "./settings.ts";

/** The calls of a partition's object that only an operator makes. */
export type RestoreCalls = {
  beginAt(toMs: number): Promise<void>;
  end(): Promise<void>;
  restored(partition: Partition): Promise<void>;
  refill(partition: Partition): Promise<void>;
};

/**
 * The operator's calls after a loss. It has no public route: another Worker of the same account calls it through a
 * service binding with the entrypoint `Operator`. A failed call is made again.
 */
export class Operator extends WorkerEntrypoint<Bindings> {
  /**
   * Puts the object of an account or identity back to a time in the last 30 days. An account then changes no money
   * before it has heard the chain's totals. An agent sells nothing before all accounts have told it again.
   */
  async restore(name: string, toMs: number): Promise<void> {
    const partition = restorableOf(name);
    const object = () => objectOf<RestoreCalls>(this.env.PARTITION, partition, this.env);
    await object().beginAt(toMs);
    // The object ends before it can answer, so the call always fails.
    await object()
      .end()
      .catch(() => undefined);
    await object().restored(partition);
    if (isAgent(partition)) await emptyLimit(this.#host(), partition);
  }

  /** Gives the lost object of an account or identity the rows of its copy in the bucket, and then is `restore`. */
  async refill(name: string): Promise<void> {
    const partition = restorableOf(name);
    await objectOf<RestoreCalls>(this.env.PARTITION, partition, this.env).refill(partition);
    if (isAgent(partition)) await emptyLimit(this.#host(), partition);
  }

  /**
   * Has the accounts tell `ceiling` or an agent's identity again what they used and hold, and lets it allow nothing
   * until then. To be called until it returns null, each time with what it returned before.
   */
  async tellAgain(limit: string, after: string | null = null): Promise<string | null> {
    return tellAgain(this.#host(), { chain: this.#chain(), limit: restorable(limit) ?? limit, after });
  }

  /** Empties the chain's partition, which the primary chain is then read into from its first block. */
  async reread(): Promise<void> {
    await objectOf<ChainCalls>(this.env.CHAIN, this.#chain(), this.env).reread();
  }

  #chain(): Partition {
    return objectSettingsOf(this.env).chain;
  }

  #host() {
    const ledger = makeEdgeLedger(this.env, { background: (work) => this.ctx.waitUntil(work) });
    return { ledger, clock: { now: () => Date.now() } };
  }
}

/** @throws For a partition that no copy is put back of. */
function restorableOf(name: string): Partition {
  const partition = restorable(name);
  if (partition !== undefined) return partition;
  throw new Error(`${name} is never restored from a copy. Call reread() for the chain's, tellAgain() for others.`);
}
