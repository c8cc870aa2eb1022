import type { Delivered } from "./quote.ts";

/** Never less than the tokens that were delivered: a token has at least a byte, or came in an event of its own. */
export function deliveredTokens(delivered: Delivered): number {
  return Math.max(delivered.bytes, delivered.events);
}
