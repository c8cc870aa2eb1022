import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import type { LogBounds } from "../row-log.ts";
import worker, { PartitionObject as TestedPartitionObject } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** Everything here goes by a clock that is this much ahead. */
let aheadMs = 0;
const realNow = Date.now;
Date.now = () => realNow() + aheadMs;

/** The object under test, whose alarms ring by that clock. */
export class PartitionObject extends TestedPartitionObject {
  constructor(ctx: DurableObjectState, env: Bindings, bounds?: LogBounds) {
    const { storage } = ctx;
    const setAlarm = storage.setAlarm.bind(storage);
    storage.setAlarm = (at) => setAlarm(Number(at) - aheadMs);
    super(ctx, env, bounds);
  }
}

export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/__ahead") return worker.fetch(request, bindings, event);
    aheadMs = Number(searchParams.get("ms"));
    return new Response();
  },
};
