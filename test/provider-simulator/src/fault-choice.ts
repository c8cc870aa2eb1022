import type { Model } from "./catalogue.ts";
import type { Exchange } from "./exchange.ts";
import { FAULT_NAMES } from "./faults.ts";
import type { Markers } from "./markers.ts";

/** The fault this request is to meet: by its text, else by its model, else one placed on the model or the path. */
export function chooseFault(x: Exchange, markers: Markers, model: Model | null): string | null {
  const marked = markers.get("fault");
  const fault =
    marked !== undefined && FAULT_NAMES.has(marked)
      ? marked
      : (model?.fault ?? placedFault(x, model?.id) ?? placedFault(x, x.path));
  x.record.fault = fault;
  return fault;
}

function placedFault(x: Exchange, place: string | undefined): string | null {
  const placed = place === undefined ? undefined : x.sim.placedFaults.get(place);
  if (placed === undefined || placed.times <= 0) return null;
  placed.times -= 1;
  return placed.fault;
}
