import { type Connection, listModels } from "@inference/sdk";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";

/** The default model: the cheapest text model with a price. */
export async function cheapestModel({ say }: Context, connection: Connection): Promise<string> {
  const [found] = (await listModels(connection))
    .filter(({ type, pricing, alias_of: other }) => type === "text" && other === undefined && priceOf(pricing) > 0)
    .sort((one, other) => priceOf(one.pricing) - priceOf(other.pricing));
  if (found === undefined)
    throw new CommandError("This gateway lists no model that writes text: name one with --model.");
  say(`Model ${found.id}, the cheapest; --model names another.`);
  return found.id;
}

/** A number for comparison only. */
function priceOf({ completion }: Readonly<Record<string, unknown>>): number {
  return Number(completion ?? 0);
}
