import type { WrittenOrder } from "./requests/order.ts";
import type { OrderContext } from "./requests/order-context.ts";
import type { ElementKind } from "./stream/json-elements.ts";

/** What the request path needs to know of a metered endpoint. */
export type InferenceRoute = {
  /** The endpoint's name in holds, receipts and idempotency keys. It is stored: never change it. */
  name: string;
  /** The answer's bytes go to the client as they come, whatever the request said. */
  passesThrough: boolean;
  /** The list in a whole JSON answer that is what was asked for; null where answers are bytes only. */
  content: { field: "choices" | "data" | "images"; elements: ElementKind } | null;
  /** The fields of a whole JSON answer that a client gets to see. */
  answerFields: readonly string[];
  /**
   * The order, in pieces of work where the body is large. It names the provider's path. Throws `GatewayError` for what
   * cannot be priced or served.
   */
  parse(body: unknown, context: OrderContext): Generator<void, WrittenOrder>;
};
