import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Bindings } from "../bindings.ts";
import { makeEdgeLedger } from "../ledger.ts";
import { PartitionObject as RealPartitionObject } from "../partition-object.ts";
import worker from "../worker.ts";

export { ChainObject } from "../chain-object.ts";

/** The object as it is, and what may happen to it. */
export class PartitionObject extends RealPartitionObject {
  #refusals = 0;

  override async execute(partition: Partition, command: Command): Promise<Reply> {
    if (command.type === "follow" && this.#refusals > 0) {
      this.#refusals -= 1;
      throw new Error("out of order");
    }
    return super.execute(partition, command);
  }

  /** The next deliveries fail. */
  async refuse(times: number): Promise<void> {
    this.#refusals = times;
  }

  async refusalsLeft(): Promise<number> {
    return this.#refusals;
  }

  /** As after an alarm that the runtime gave up, in an object that was evicted since. */
  async loseAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    setTimeout(() => this.ctx.abort("evicted"), 10);
  }

  /** What is forgotten once a day is forgotten now. */
  async forgetNow(): Promise<void> {
    await this.ctx.storage.put("forgetAt", 0);
    await this.ctx.storage.setAlarm(Date.now());
  }
}

/** The Worker as it is, and beside it a door for tests to put commands and questions to a partition. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (!request.url.endsWith("/__ledger")) return worker.fetch(signalled(request), bindings, event);
    const { partition, command, query, call } = (await request.json()) as {
      partition: string;
      command?: Command;
      query?: never;
      call?: [string, ...unknown[]];
    };
    const ledger = makeEdgeLedger(bindings);
    if (command !== undefined) return Response.json(await ledger.run(() => send(partition, command)));
    if (query !== undefined) return Response.json(await ledger.read(partition, query as never));
    const [method, ...args] = call ?? ["none"];
    const object = bindings.PARTITION.get(bindings.PARTITION.idFromName(partition)) as unknown as {
      [method: string]: (...args: unknown[]) => Promise<unknown>;
    };
    return Response.json((await object[method]?.(...args)) ?? null);
  },
};

/**
 * Production says through the request's signal that a client left before its answer began; local workerd notices it only
 * when it writes to it.
 */
function signalled(request: Request): Request {
  const leavesAfterMs = request.headers.get("x-test-leaves-after-ms");
  return leavesAfterMs === null
    ? request
    : new Request(request, { signal: AbortSignal.timeout(Number(leavesAfterMs)) });
}
