import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import { briefLog, routed } from "./routed-bindings.ts";
import worker, { PartitionObject as TestedPartitionObject } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** The version that is there during a rollout. */
export class PartitionObject extends TestedPartitionObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, routed(env), briefLog);
  }
}

export default {
  fetch: (request: Request, bindings: Bindings, event: ExecutionContext) =>
    worker.fetch(request, routed(bindings), event),
};
