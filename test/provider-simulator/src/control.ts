import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "./body.ts";
import { priceFromWire } from "./pricing.ts";
import { isSettingName, readPlacedFault, readSettings } from "./settings.ts";
import type { Simulator } from "./simulator.ts";
import { type Body, isObject, parseJsonObject } from "./validate.ts";
import { CONTROL_PATH } from "./wire.ts";

/** Questions and changes of tests. They are not part of the provider's wire. */
export async function handleControl(sim: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://simulator");
  const route = `${request.method} ${url.pathname.slice(CONTROL_PATH.length)}`;
  let status = 200;
  let body: unknown;
  try {
    body = answer(sim, route, (await readBody(request))?.toString() ?? "");
  } catch (error) {
    status = 400;
    body = { error: error instanceof Error ? error.message : String(error) };
  }
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function answer(sim: Simulator, route: string, text: string): unknown {
  switch (route) {
    case "POST /config":
      configure(sim, parseJsonObject(text));
      return sim.settings;
    case "GET /config":
      return sim.settings;
    default:
      throw new RangeError(`no such route: ${route}`);
  }
}

/** Reads the whole body before the first change, so that a wrong value changes nothing. */
export function configure(sim: Simulator, { prices = {}, listed = {}, faults = {}, ...settings }: Body): void {
  const unknown = Object.keys(settings).find((name) => !isSettingName(name));
  if (unknown !== undefined) throw new RangeError(`unknown setting: ${unknown}`);
  const entries = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
  const changes = [
    ...entries(prices).map(([id, price]) => {
      const read = price === null ? null : priceFromWire(price);
      return () => sim.catalogue.setPrice(id, read);
    }),
    ...entries(listed).map(
      ([id, isListed]) =>
        () =>
          sim.catalogue.setListed(id, isListed === true),
    ),
    ...entries(faults).map(([place, value]) => {
      const fault = readPlacedFault(value);
      return () => void (fault === null ? sim.placedFaults.delete(place) : sim.placedFaults.set(place, fault));
    }),
  ];
  const unknownModel = [...entries(prices), ...entries(listed)].find(([id]) => !sim.catalogue.knows(id))?.[0];
  if (unknownModel !== undefined) throw new RangeError(`no such model: ${unknownModel}`);
  const read = readSettings(settings);
  for (const change of changes) change();
  sim.change(read);
}
