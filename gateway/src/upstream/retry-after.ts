import type { UpstreamResponse } from "../environment.ts";

/** The seconds of an answer's `Retry-After`, in ms; null if there are none. */
export function readRetryAfter({ header }: Pick<UpstreamResponse, "header">): number | null {
  const text = header("retry-after");
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : null;
}
