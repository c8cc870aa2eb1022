import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { tableSchemas } from "@inference/ledger/schema";
import type { Bindings } from "../bindings.ts";
import { routed } from "./routed-bindings.ts";
import worker, { PartitionObject as TestedPartitionObject } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** What the newer version adds to each command, question and reply. */
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

/** Nor are holds without a column more. */
Object.assign(tableSchemas.hold.columns, { version: "integer?" });

/** The version that comes with a rollout. */
export class PartitionObject extends TestedPartitionObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, newer(env));
  }

  override async execute(partition: Partition, command: Command): Promise<Reply> {
    const reply = await super.execute(partition, command);
    if ("id" in command) {
      this.ctx.storage.sql.exec("UPDATE hold_row SET version = ? WHERE id = ?", more.version, command.id);
    }
    return { ...reply, ...more };
  }

  /** What the column that only this version knows says of a hold. */
  async versionOf(id: string): Promise<unknown> {
    return this.ctx.storage.sql.exec("SELECT version FROM hold_row WHERE id = ?", id).one().version;
  }

  /** As if a version had been here whose rows nobody else can read. */
  async changeSchema(): Promise<void> {
    this.ctx.storage.sql.exec("UPDATE schema SET version = version + 1");
    await this.ctx.storage.sync();
    this.ctx.abort("changed");
  }
}

export default {
  fetch: (request: Request, bindings: Bindings, event: ExecutionContext) =>
    worker.fetch(request, newer(bindings), event),
};
