import worker, { PartitionObject as ObjectUnderTest } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** The object of a Worker that is killed again and again. */
export class PartitionObject extends ObjectUnderTest {
  /** The time passes that a lease has, while nobody works on what is held here. */
  async lapse(): Promise<void> {
    const now = Date.now();
    this.ctx.storage.sql.exec(
      "UPDATE hold_row SET lease_until = ? WHERE state IN ('open', 'orphaned') AND lease_until > ?",
      now,
      now,
    );
    await this.ctx.storage.setAlarm(now);
  }
}

export default worker;
