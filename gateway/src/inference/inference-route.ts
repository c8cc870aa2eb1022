import type { BodyParser } from "./requests/body-job.ts";
import type { ParsedOrder } from "./requests/order.ts";
import type { ElementKind } from "./stream/json-elements.ts";

/** The parts of a metered endpoint that the request path needs. */
export type InferenceRoute = BodyParser<ParsedOrder> & {
  /** The endpoint's name in holds, receipts and idempotency keys. It is stored: never change it. */
  name: string;
  /** The answer's bytes go to the client as they come, whatever the request said. */
  passesThrough: boolean;
  /** The list or text in a whole JSON answer that was asked for; null where answers are bytes only. */
  content: { field: "choices" | "data" | "images" | "text"; elements: ElementKind } | null;
  /** The fields of a whole JSON answer that a client gets to see. */
  answerFields: readonly string[];
};
