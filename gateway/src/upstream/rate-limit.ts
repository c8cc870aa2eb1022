import { limits } from "../config.ts";
import type { UpstreamResponse } from "../environment.ts";
import type { RateLimit } from "../load/pace.ts";

/**
 * Reads the provider's limit from its `x-ratelimit-*-requests` headers; null if there are none. Providers write the
 * reset as a time (Unix, in seconds or milliseconds), as seconds, or as a duration such as `6m0s`. A 429 with
 * `Retry-After` has nothing left until then, whatever the other headers say: tokens may be limited too.
 */
export function readRateLimit(
  { status, header }: Pick<UpstreamResponse, "status" | "header">,
  atMs: number,
): RateLimit | null {
  const limit = wholeOf(header("x-ratelimit-limit-requests"));
  const retryAfterMs = status === 429 ? readRetryAfter({ header }) : null;
  if (retryAfterMs !== null) return { limit, remaining: 0, resetMs: Math.min(retryAfterMs, limits.mostKeyBlockMs) };
  const remaining = wholeOf(header("x-ratelimit-remaining-requests"));
  const resetMs = resetOf(header("x-ratelimit-reset-requests"), atMs);
  return remaining === null || resetMs === null ? null : { limit, remaining, resetMs };
}

/** Numbers above these are times since 1970. */
const LEAST_UNIX_S = 1e9;
const LEAST_UNIX_MS = 1e12;

function resetOf(text: string | null, atMs: number): number | null {
  if (text === null) return null;
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) {
    const value = Number(text);
    if (value >= LEAST_UNIX_MS) return value - atMs;
    return value >= LEAST_UNIX_S ? value * 1000 - atMs : value * 1000;
  }
  const parts = /^(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/.exec(
    text,
  );
  if (text === "" || parts === null) return null;
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms;
}

function wholeOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The seconds of an answer's `Retry-After`, in ms; null if there are none. */
export function readRetryAfter({ header }: Pick<UpstreamResponse, "header">): number | null {
  const text = header("retry-after");
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : null;
}
