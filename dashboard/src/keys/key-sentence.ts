import type { KeyTermTexts } from "@inference/protocol/key-message";
import { parseDecimal } from "@inference/protocol/money";
import type { LimitReset } from "@inference/protocol/window";
import { dollars } from "../format.ts";

export const windowWords: Record<LimitReset | "lifetime", string> = {
  daily: "a day",
  monthly: "a month",
  lifetime: "lifetime",
};

/** `Key codex: at most $3.00 a month, any model, until 22 Feb 2027`. */
export function keySentence({ name, limit, limit_reset: reset, expires_at: end, ...more }: KeyTermTexts): string {
  const limits = [
    [limit, reset ?? "lifetime"],
    [more.limit_daily, "daily"],
    [more.limit_monthly, "monthly"],
    [more.limit_lifetime, "lifetime"],
  ] as const;
  const most = limits.flatMap(([text, window]) =>
    text === undefined ? [] : `${dollarsOf(text)} ${windowWords[window]}`,
  );
  const kind = more.private === "true" ? "private " : "";
  const parts = [
    most.length === 0 ? "your whole balance" : `at most ${most.join(" and ")}`,
    more.requests_per_minute === undefined ? [] : `${more.requests_per_minute} requests a minute`,
    more.tokens_per_minute === undefined ? [] : `${more.tokens_per_minute} tokens a minute`,
    more.models === undefined ? `any ${kind}model` : `${kind}models ${more.models}`,
    end === undefined ? "no expiry" : Number.isNaN(Date.parse(end)) ? "until …" : `until ${END.format(new Date(end))}`,
  ];
  return `Key ${name ?? "without a name"}: ${parts.flat().join(", ")}`;
}

const END = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** The amount, or `$…` for a text that is no amount. */
function dollarsOf(text: string): string {
  return parseDecimal(text, 9) === undefined ? "$…" : dollars(text);
}
