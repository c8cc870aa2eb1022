import type { Gateway } from "../gateway.ts";
import { scrub } from "../upstream/scrub.ts";
import type { Call } from "./call.ts";

/**
 * Alerts the operator where another model answered than was asked for: the request was charged at the wrong prices.
 *
 * @param answered The model that the answer names; anything but a text names none.
 */
export function checkModel(gateway: Gateway, { id, order, upstreamKey }: Call, answered: unknown): void {
  if (typeof answered !== "string" || answered === order.model.id) return;
  const said = scrub(answered, gateway.secrets(upstreamKey));
  gateway.environment.log("alert", "other_model", { request: id, asked: order.model.id, answered: said });
}
