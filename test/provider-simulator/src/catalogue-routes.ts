import { type Exchange, sendJson, sleep } from "./exchange.ts";
import { chooseFault, runEarlyFault } from "./job.ts";

/** A read of the catalogue, open to everybody. It meets the faults placed on its path. */
export function catalogueRead(read: (x: Exchange, type: string) => string): (x: Exchange) => Promise<void> {
  return async (x) => {
    if (!(await sleep(x, x.sim.settings.delayMs))) return;
    const type = x.query.get("type") ?? "text";
    if (!(await runEarlyFault(x, chooseFault(x, new Map(), null)))) sendJson(x, read(x, type));
  };
}
