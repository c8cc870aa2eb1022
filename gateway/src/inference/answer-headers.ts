import type { Order } from "./order.ts";

/** The headers of an answer: ours, and of the provider's nothing but the content type. */
export function answerHeaders(order: Order, contentType: string): Record<string, string> {
  const headers: Record<string, string> = { "content-type": contentType };
  if (order.ignored.length > 0) headers["x-ignored-parameters"] = order.ignored.join(", ");
  return headers;
}
