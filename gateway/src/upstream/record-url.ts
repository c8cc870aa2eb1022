import { DAY_MS } from "@inference/protocol/window";
import * as z from "zod";
import { setting } from "../setting-fields.ts";

export type RecordedAnswer = { upstreamId: string; admittedAt: number };

/** Allows for a difference between the clocks of gateway and provider. */
const CLOCKS_DIFFER_MS = 60_000;

/** The URL of a provider's record: `{id}` is the answer's id, `{since}` a time before its request. */
export function fillRecordUrl(template: string, { upstreamId, admittedAt }: RecordedAnswer): string {
  const since = new Date(admittedAt - CLOCKS_DIFFER_MS).toISOString();
  return template.replaceAll("{id}", encodeURIComponent(upstreamId)).replaceAll("{since}", encodeURIComponent(since));
}

/** The origin of a record URL. Null if it has none, or if the origin depends on what the template is filled with. */
export function recordOrigin(template: string): string | null {
  const origins = ["one", "two"].map((upstreamId) => {
    const url = fillRecordUrl(template, { upstreamId, admittedAt: 0 });
    return URL.canParse(url) && /^https?:/i.test(url) ? new URL(url).origin : null;
  });
  return origins[0] === origins[1] ? (origins[0] ?? null) : null;
}

/** Where the provider reports what it charged for a UTC day. */
export const billingSettings = {
  url: setting(
    "UPSTREAM_BILLING_URL",
    z
      .string()
      .regex(/^(\/|https?:\/\/)/, "must be an http(s) URL, or a path below UPSTREAM_BASE_URL")
      .regex(/\{(day|start|start_s)\}/, "must contain {day}, {start} or {start_s}")
      .nullable()
      .default(null)
      .describe(
        "URL, or path below UPSTREAM_BASE_URL, of the provider's record of its charges for the UTC day {day}, or from {start} to before {end} (in Unix seconds {start_s}, {end_s}). Read once a day with UPSTREAM_BILLING_KEY.",
      ),
  ),
  key: setting(
    "UPSTREAM_BILLING_KEY",
    z
      .string()
      .nullable()
      .default(null)
      .describe(
        "Key for UPSTREAM_BILLING_URL, usually one for administrators. With it, each day's charges of the provider are compared with its list prices.",
      ),
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
