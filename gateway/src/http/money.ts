import { formatDecimal, formatUsd, type NanoUsd } from "@inference/protocol/money";

/** A JSON number with exactly these digits, which `JSON.stringify` prints unchanged. */
export type ExactNumber = { readonly rawJSON: string };

type ReviveSource = (key: string, value: unknown, context: { source?: string }) => unknown;
const json = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  parse(text: string, revive: ReviveSource): unknown;
};

/** An amount as a JSON number in dollars, printed from the integer without a float. */
export function usd(amountNanoUsd: NanoUsd): ExactNumber {
  return json.rawJSON(formatUsd(amountNanoUsd));
}

/** The header with what an account can spend, in dollars. */
export const BALANCE_HEADER = "x-balance-usd";

/** The header of an account's balance; undefined if it is not known, or if a capacity pays. */
export function balanceHeader(availableNanoUsd: NanoUsd | undefined): Record<string, string> {
  return availableNanoUsd === undefined ? {} : { [BALANCE_HEADER]: formatUsd(availableNanoUsd) };
}

/** Each amount in dollars under its name, and in nano-dollars under `<name>_nano_usd`. Null: there is no amount. */
export function amounts(
  amountsNanoUsd: Readonly<Record<string, NanoUsd | bigint | null>>,
): Record<string, ExactNumber | NanoUsd | null> {
  const fields = Object.entries(amountsNanoUsd).flatMap(([name, amount]) => [
    [name, amount === null ? null : json.rawJSON(formatDecimal(BigInt(amount), 9))],
    [`${name}_nano_usd`, typeof amount === "bigint" ? json.rawJSON(String(amount)) : amount],
  ]);
  return Object.fromEntries(fields);
}

/** Parses a JSON body. The numbers under `fields` stay text, with their original digits. */
export function parseKeepingDigits(text: string, fields: readonly string[]): unknown {
  return json.parse(text, (key, value, { source }) =>
    fields.includes(key) && typeof value === "number" && source !== undefined ? source : value,
  );
}
