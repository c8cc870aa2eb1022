import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Command, CommandType } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Bindings } from "../bindings.ts";
import { ChainObject as RealChainObject } from "../chain-object.ts";
import type { PartitionCalls } from "../ledger.ts";
import worker from "./worker-under-test.ts";

export { PartitionObject } from "./worker-under-test.ts";

/** Around a command of the chain's object: before it is sent, or once it is durable and its reply has not come. */
export type ChainEviction = { step: CommandType; moment: "before" | "after"; times: number };

let due: ChainEviction | undefined;

/** The real chain object, evicted at a given step. */
export class ChainObject extends RealChainObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, { ...env, PARTITION: evicting(env.PARTITION, () => ctx.abort("evicted")) });
  }
}

function evicting(namespace: Bindings["PARTITION"], evict: () => void): Bindings["PARTITION"] {
  const getByName = (name: string): PartitionCalls => {
    const object = namespace.getByName(name) as unknown as PartitionCalls;
    return {
      read: (partition, query) => object.read(partition, query),
      executeAll: (partition, commands) => object.executeAll(partition, commands),
      async execute(partition: Partition, command: Command) {
        if (due === undefined || due.times === 0 || due.step !== command.type)
          return object.execute(partition, command);
        due.times -= 1;
        if (due.moment === "after") await object.execute(partition, command);
        evict();
        throw new Error("evicted");
      },
    };
  };
  return { idFromName: (name: string) => namespace.idFromName(name), getByName } as unknown as Bindings["PARTITION"];
}

export default {
  /** `/__evict`: what is to happen next, or how often it has not happened yet. */
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (!request.url.endsWith("/__evict")) return worker.fetch(request, bindings, event);
    if (request.method === "POST") due = (await request.json()) as ChainEviction;
    return Response.json(due?.times ?? 0);
  },
};
