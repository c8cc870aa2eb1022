import type { InferenceRequest } from "./inference.ts";
import type { Order } from "./order.ts";

/** The headers of an answer: ours, and of the provider's nothing but the content type. */
export function answerHeaders(request: InferenceRequest, order: Order, contentType: string): Record<string, string> {
  const headers: Record<string, string> = { ...request.headers, "content-type": contentType };
  if (order.ignored.length > 0) headers["x-ignored-parameters"] = order.ignored.join(", ");
  return headers;
}
