import type { Gateway } from "../gateway.ts";
import { scrub } from "../upstream/scrub.ts";
import type { Call } from "./call.ts";

/**
 * Alerts the operator if another model answered than the one that was requested and charged.
 *
 * @param answered The model that the answer names. A value that is not a text names none.
 */
export function checkModel(gateway: Gateway, { id, order, upstreamKey }: Call, answered: unknown): void {
  if (typeof answered !== "string" || answered === order.model.id) return;
  const said = scrub(answered, gateway.secrets(upstreamKey));
  gateway.environment.log("alert", "other_model", { request: id, asked: order.model.id, answered: said });
}
