import { runEarlyFault } from "./early-faults.ts";
import { schemaError, WireError } from "./errors.ts";
import { type Exchange, sendJson, sleep } from "./exchange.ts";
import { chooseFault } from "./fault-choice.ts";

/** The catalogue's reads, open to everybody. A fault may be placed on their paths. */
export const catalogueRoutes: Readonly<Record<string, (x: Exchange) => Promise<void>>> = {
  "GET /models": (x) => answer(x, () => listing(x)),
  "GET /models/traits": (x) => answer(x, () => x.sim.catalogue.traits(typeOf(x))),
  "GET /models/compatibility_mapping": (x) => answer(x, () => x.sim.catalogue.compatibility(typeOf(x))),
  "GET /image/styles": (x) => answer(x, () => x.sim.catalogue.styles()),
};

async function answer(x: Exchange, body: () => string): Promise<void> {
  if (!(await sleep(x, x.sim.settings.delayMs))) return;
  if (!(await runEarlyFault(x, chooseFault(x, new Map(), null)))) sendJson(x, body());
}

function typeOf(x: Exchange): string {
  return new URLSearchParams(x.search).get("type") ?? "text";
}

function listing(x: Exchange): string {
  const body = x.sim.catalogue.listing(typeOf(x), x.sim.settings.simulatorFaults === 1);
  if (body === null) throw new WireError(schemaError("type", "Invalid enum value", "invalid_enum_value"));
  return body;
}
