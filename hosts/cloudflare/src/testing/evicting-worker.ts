import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Command, CommandType } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Bindings } from "../bindings.ts";
import type { Outcome } from "../deliveries.ts";
import worker, { PartitionObject as ObjectUnderTest } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/**
 * Around a command: before it, when it is written and not yet durable, and when it is durable and its reply has not
 * left.
 */
export type Moment = "before" | "unsaved" | "saved";
export type Eviction = { step: CommandType; moment: Moment; times: number };

let due: Eviction | undefined;

function isDue(step: CommandType): boolean {
  return due !== undefined && due.step === step && due.times > 0;
}

/** The object under test, which is evicted at the step that is named. */
export class PartitionObject extends ObjectUnderTest {
  constructor(ctx: DurableObjectState, env: Bindings) {
    // A commit in three folds the log.
    super(ctx, env, { slots: 3, characters: 100_000 });
    const { acknowledge } = this.ownRows;
    this.ownRows.acknowledge = (ids) => {
      if (!isDue("acknowledge")) return acknowledge(ids);
      // Written by itself, as an alarm would.
      const end = this.#end(async () => {
        acknowledge(ids);
        this.ownRows.commit();
      });
      void end.catch(() => undefined);
    };
  }

  override async executeAll(partition: Partition, commands: readonly Command[]): Promise<Outcome[]> {
    const write = () => super.executeAll(partition, commands);
    return commands.some(({ type }) => isDue(type)) ? this.#end(write) : write();
  }

  async #end(write: () => Promise<unknown>): Promise<never> {
    const { moment } = due ?? {};
    if (due !== undefined) due.times -= 1;
    if (moment !== "before") {
      const written = write().catch(() => undefined);
      if (moment === "saved") {
        await written;
        await this.ctx.storage.sync();
      }
    }
    this.ctx.abort("evicted");
    throw new Error("evicted");
  }
}

export default {
  /** `/__evict`: what is to happen next; answers how often what was to happen has not. */
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (!request.url.endsWith("/__evict")) return worker.fetch(request, bindings, event);
    const left = due?.times ?? 0;
    due = (await request.json()) as Eviction;
    return Response.json(left);
  },
};
