import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Command, CommandType, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Bindings } from "../bindings.ts";
import worker, { PartitionObject as ShiftedPartitionObject } from "./shifted-worker.ts";

export { ChainObject } from "../chain-object.ts";

/**
 * Around a command: before it, when it is written and not yet durable, and when it is durable and its reply has not left.
 */
export type Moment = "before" | "unsaved" | "saved";
export type Eviction = { step: CommandType; moment: Moment; times: number };

let due: Eviction | undefined;

/** The object under test, which is evicted at the step that is named. */
export class PartitionObject extends ShiftedPartitionObject {
  override async execute(partition: Partition, command: Command): Promise<Reply> {
    if (due === undefined || due.step !== command.type || due.times === 0) return super.execute(partition, command);
    due.times -= 1;
    if (due.moment !== "before") {
      const written = super.execute(partition, command).catch(() => undefined);
      if (due.moment === "saved") {
        await written;
        await this.ctx.storage.sync();
      }
    }
    this.ctx.abort("evicted");
    throw new Error("evicted");
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
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
