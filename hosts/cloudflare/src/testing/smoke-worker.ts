import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Command } from "@inference/ledger/commands";
import { send } from "@inference/ledger/saga";
import type { Bindings } from "../bindings.ts";
import { makeEdgeLedger } from "../ledger.ts";
import worker from "../worker.ts";

export { PartitionObject } from "../partition-object.ts";

/** The Worker as it is, and beside it a door for the test to put commands and questions to a partition. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (!request.url.endsWith("/__ledger")) return worker.fetch(request, bindings, event);
    const { partition, command, query } = (await request.json()) as {
      partition: string;
      command?: Command;
      query?: never;
    };
    const ledger = makeEdgeLedger(bindings);
    const answer =
      command === undefined
        ? await ledger.read(partition, query as never)
        : await ledger.run(() => send(partition, command));
    return Response.json(answer);
  },
};
