import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import worker from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";
export { PartitionObject } from "./worker-under-test.ts";

/** How long the timers that have neither fired nor been cleared were set for, in ms. */
const pending = new Map<unknown, number>();

const { setTimeout, clearTimeout } = globalThis;
globalThis.setTimeout = ((callback: () => void, ms = 0) => {
  const timer = setTimeout(() => {
    pending.delete(timer);
    callback();
  }, ms);
  pending.set(timer, ms);
  return timer;
}) as typeof setTimeout;
globalThis.clearTimeout = ((timer: never) => {
  pending.delete(timer);
  clearTimeout(timer);
}) as typeof clearTimeout;
// Nothing can clear these.
const { timeout } = AbortSignal;
AbortSignal.timeout = (ms) => {
  const signal = timeout(ms);
  pending.set(signal, ms);
  signal.addEventListener("abort", () => pending.delete(signal));
  return signal;
};

/** The Worker under test, which tells at `/__timers` what is pending. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (request.url.endsWith("/__timers")) return Response.json([...pending.values()]);
    return worker.fetch(request, bindings, event);
  },
};
