import type { DurableObjectState } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import worker, { PartitionObject as ObjectUnderTest } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** The object of a Worker that is killed again and again. */
export class PartitionObject extends ObjectUnderTest {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env, { slots: 5, characters: 100_000 });
  }

  /** Lets the leases of all holds end while no Worker is there. */
  async lapse(): Promise<void> {
    const now = Date.now();
    for (const { partition, hold } of this.ownRows.lapsedHolds(Number.MAX_SAFE_INTEGER, MOST_HOLDS)) {
      if (hold.leaseUntil <= now) continue;
      this.ownRows.write(partition, [{ table: "receipt", id: hold.id, row: { ...hold, leaseUntil: now } }]);
    }
    this.ownRows.commit();
    await this.ctx.storage.setAlarm(now);
  }
}

const MOST_HOLDS = 10_000;

export default worker;
