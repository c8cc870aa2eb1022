import type { ApiKey } from "@inference/sdk";
import { usd } from "./money.ts";

/** What a key may still spend, for people. */
export function allowanceOf({ limit_nano_usd: limit, limit_remaining_nano_usd: left, ...key }: ApiKey): string {
  if (limit === null || left === null) return "no limit";
  const window = key.limit_reset === null ? "" : ` ${key.limit_reset}`;
  return `${usd(left)} of ${usd(limit)}${window}`;
}
