import { hostname } from "node:os";
import type { KeyTermTexts } from "@inference/protocol/key-message";
import { type LimitReset, limitResets } from "@inference/protocol/window";
import type { OptionSpecs } from "./command.ts";
import { UsageError } from "./errors.ts";

const resets = limitResets.join(" or ");

/** The terms of a key, as options. */
export const termOptions = {
  limit: { type: "string", value: "dollars", about: "the most that the key may spend; none without it" },
  reset: { type: "string", value: "window", about: `${resets}: when the limit resets; never without it` },
  expires: { type: "string", value: "time", about: "when the key ends, such as 2027-01-01 or 2027-01-01T12:00:00Z" },
} as const satisfies OptionSpecs;

type Terms = { limit?: string | undefined; reset?: string | undefined; expires?: string | undefined };

/** Throws {@link UsageError} for terms that no message can express. The gateway checks the rest. */
export function readTerms({ limit, reset, expires }: Terms): Omit<KeyTermTexts, "name"> {
  return { limit: limit?.replace(/^\$/, ""), limit_reset: resetOf(reset), expires_at: timeOf(expires) };
}

function resetOf(text: string | undefined): LimitReset | undefined {
  if (text === undefined) return undefined;
  const reset = limitResets.find((one) => one === text);
  if (reset === undefined) throw new UsageError(`--reset takes ${resets}, not \`${text}\`.`);
  return reset;
}

/** A day means its beginning in UTC. */
function timeOf(text: string | undefined): string | undefined {
  if (text === undefined || text === "none") return text;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`--expires takes a day or a time, not \`${text}\`.`);
  return new Date(time).toISOString();
}

export function ownName(): string {
  return `infer on ${hostname()}`.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 64);
}
