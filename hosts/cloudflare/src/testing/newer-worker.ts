import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Bindings } from "../bindings.ts";
import { openOwnRows } from "../own-rows.ts";
import { OBJECT_VERSION } from "../row-log.ts";
import { briefLog, routed } from "./routed-bindings.ts";
import worker, { PartitionObject as TestedPartitionObject } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** The properties that the newer version adds to each command, query and reply. */
const more = { version: 2 };

function newer(bindings: Bindings): Bindings {
  return routed(bindings, (object) => ({
    execute: (partition, command) => object.execute(partition, { ...command, ...more }),
    executeAll: (partition, commands) =>
      object.executeAll(
        partition,
        commands.map((command) => ({ ...command, ...more })),
      ),
    read: (partition, query) => object.read(partition, { ...query, ...more }),
  }));
}

/** The version that comes with a rollout. */
export class PartitionObject extends TestedPartitionObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, newer(env), briefLog);
  }

  override async execute(partition: Partition, command: Command): Promise<Reply> {
    const reply = await super.execute(partition, command);
    const hold = "id" in command ? this.ownRows.of(partition).get("receipt", command.id) : undefined;
    if (hold !== undefined) {
      this.ownRows.write(partition, [{ table: "receipt", id: hold.id, row: { ...hold, ...more } }]);
      this.ownRows.commit();
    }
    return { ...reply, ...more };
  }

  /** The value of the newer version's property in a hold. */
  async versionOf(partition: Partition, id: string): Promise<unknown> {
    const hold = openOwnRows(this.ctx.storage).of(partition).get("receipt", id);
    return (hold as { version?: number } | undefined)?.version;
  }

  /** As if a version had been here whose rows nobody else can read. */
  async changeSchema(): Promise<void> {
    this.ctx.storage.sql.exec("UPDATE log SET version = ?", OBJECT_VERSION + 1);
    await this.ctx.storage.sync();
    this.ctx.abort("changed");
  }
}

export default {
  fetch: (request: Request, bindings: Bindings, event: ExecutionContext) =>
    worker.fetch(request, newer(bindings), event),
};
