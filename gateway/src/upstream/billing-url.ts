import { DAY_MS } from "@inference/protocol/window";
import * as z from "zod";
import { setting } from "../setting-fields.ts";

/** Where the provider reports what it charged for a UTC day. */
export const billingSettings = {
  url: setting(
    "UPSTREAM_BILLING_URL",
    "URL, or path below UPSTREAM_BASE_URL, of the provider's record of its charges for the UTC day {day}, or from {start} to before {end} (in Unix seconds {start_s}, {end_s}). Read once a day with UPSTREAM_BILLING_KEY.",
    z
      .string()
      .regex(/^(\/|https?:\/\/)/, "must be an http(s) URL, or a path below UPSTREAM_BASE_URL")
      .regex(/\{(day|start|start_s)\}/, "must contain {day}, {start} or {start_s}")
      .nullable()
      .default(null),
  ),
  key: setting(
    "UPSTREAM_BILLING_KEY",
    "Key for UPSTREAM_BILLING_URL, usually one for administrators. With it, each day's charges of the provider are compared with its list prices.",
    z.string().nullable().default(null),
  ),
};

/** The record of a day, and its key. */
export type BillingConfig = { url: string; key: string };

/** The URL of a day's record. @param day Such as 2026-11-22. */
export function fillBillingUrl(template: string, day: string): string {
  const startMs = Date.parse(day);
  const values = {
    ...{ day, start: new Date(startMs).toISOString(), end: new Date(startMs + DAY_MS).toISOString() },
    ...{ start_s: startMs / 1_000, end_s: (startMs + DAY_MS) / 1_000 },
  };
  let url = template;
  for (const [name, value] of Object.entries(values)) url = url.replaceAll(`{${name}}`, encodeURIComponent(value));
  return url;
}
