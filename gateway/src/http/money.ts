import { formatDecimal, formatUsd, type NanoUsd } from "@inference/protocol/money";

/** A number in JSON whose digits are exactly these: `JSON.stringify` prints it as it is. */
export type ExactNumber = { readonly rawJSON: string };

type ReviveSource = (key: string, value: unknown, context: { source?: string }) => unknown;
const json = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  parse(text: string, revive: ReviveSource): unknown;
};

/** An amount as a JSON number in dollars, printed from the integer: no float has held it. */
export function usd(amountNanoUsd: NanoUsd): ExactNumber {
  return json.rawJSON(formatUsd(amountNanoUsd));
}

/** An integer scaled by 10^decimals, of whatever size. */
export function exact(scaled: bigint, decimals: number): ExactNumber {
  return json.rawJSON(formatDecimal(scaled, decimals));
}

/** An amount, where there may be no amount. */
export function usdOrNull(amountNanoUsd: NanoUsd | null): ExactNumber | null {
  return amountNanoUsd === null ? null : usd(amountNanoUsd);
}

/** Parses a JSON body, and keeps the number under `field` as the text that it was sent as. */
export function parseKeepingDigits(text: string, field: string): unknown {
  return json.parse(text, (key, value, { source }) =>
    key === field && typeof value === "number" && source !== undefined ? source : value,
  );
}
