import { hostname } from "node:os";
import type { KeyTermTexts } from "@inference/protocol/key-message";
import { type LimitReset, limitResets } from "@inference/protocol/window";
import * as z from "zod";
import type { OptionSpecs } from "./command.ts";
import { UsageError } from "./errors.ts";

const resets = limitResets.join(" or ");

/** The terms of a key, as options. */
export const termOptions = {
  limit: { type: "string", value: "dollars", about: "the most that the key may spend; none without it" },
  reset: { type: "string", value: "window", about: `${resets}: when the limit resets; never without it` },
  daily: { type: "string", value: "dollars", about: "another limit, for a day" },
  monthly: { type: "string", value: "dollars", about: "another limit, for a month" },
  requests: { type: "string", value: "count", about: "the most requests a minute" },
  tokens: { type: "string", value: "count", about: "the most tokens a minute" },
  models: { type: "string", value: "list", about: "the models it may use, such as gpt-4o,llama-*; all without it" },
  private: { type: "boolean", about: "only models that the provider calls private" },
  expires: { type: "string", value: "time", about: "when the key ends, such as 2027-01-01 or 2027-01-01T12:00:00Z" },
} as const satisfies OptionSpecs;

type Terms = { [K in Exclude<keyof typeof termOptions, "private">]?: string | undefined } & {
  private?: boolean | undefined;
};

/** Throws {@link UsageError} for terms that no message can express. The gateway checks the rest. */
export function readTerms({ limit, reset, expires, daily, monthly, ...terms }: Terms): Omit<KeyTermTexts, "name"> {
  return {
    limit: dollars(limit),
    limit_reset: resetOf(reset),
    limit_daily: dollars(daily),
    limit_monthly: dollars(monthly),
    requests_per_minute: terms.requests,
    tokens_per_minute: terms.tokens,
    models: terms.models,
    private: terms.private === true ? "true" : undefined,
    expires_at: timeOf(expires),
  };
}

function dollars(text: string | undefined): string | undefined {
  return text?.replace(/^\$/, "");
}

function resetOf(text: string | undefined): LimitReset | undefined {
  if (text === undefined) return undefined;
  const reset = limitResets.find((one) => one === text);
  if (reset === undefined) throw new UsageError(`--reset takes ${resets}, not \`${text}\`.`);
  return reset;
}

function timeOf(text: string | undefined): string | undefined {
  return text === undefined || text === "none" ? text : readTime(text, "--expires").toISOString();
}

/** A day means its beginning in UTC. Throws {@link UsageError} for other forms, which JavaScript would guess at. */
export function readTime(text: string, what: string): Date {
  if (z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(text).success) return new Date(text);
  throw new UsageError(
    `${what} takes a day or a time, such as 2027-01-01 or 2027-01-01T12:00:00Z. It is not \`${text}\`.`,
  );
}

export function ownName(): string {
  return `infer on ${hostname()}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 64);
}
