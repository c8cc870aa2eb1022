/**
 * Money. Amounts are integers with the unit in the name:
 *
 * - `NanoUsd`: 1e-9 USD, a JS number that is always a safe integer between 0 and 9e15 (nine million dollars).
 * - token units (`amountToken`): 1e-6 USD, bigint, the token's 6 decimals.
 * - atto-USD: 1e-18 USD, bigint; prices per unit and exact charges before their one rounding.
 *
 * No float ever touches money. A charge is computed exactly and rounded up once, to the nano-dollar.
 */
export type NanoUsd = number;

export const MAX_NANO_USD: NanoUsd = 9_000_000_000_000_000;
export const NANO_USD_PER_TOKEN_UNIT = 1_000n;
const TOKEN_DECIMALS = 6;
const ATTO_PER_NANO = 1_000_000_000n;

export function isNanoUsd(value: unknown): value is NanoUsd {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= MAX_NANO_USD;
}

/** Throws unless `value` is an amount. For values that only a bug can make invalid, never for a user's input. */
export function assertNanoUsd(value: number, what: string): NanoUsd {
  if (!isNanoUsd(value)) throw new MoneyError(`${what} is not an amount in nano-dollars: ${value}`);
  return value;
}

/** Nano-dollars of the chain, where an amount may be above the largest. It then counts as that. */
export function cappedNanoUsd(nano: bigint): NanoUsd {
  return nano > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(nano);
}

/** The least whole number of nano-dollars that covers an exact charge. */
export function attoToNanoUsdUp(atto: bigint): NanoUsd {
  if (atto < 0n) throw new MoneyError(`a charge is negative: ${atto}`);
  const nano = (atto + ATTO_PER_NANO - 1n) / ATTO_PER_NANO;
  if (nano > BigInt(MAX_NANO_USD)) throw new MoneyError(`a charge is too large: ${atto} atto-dollars`);
  return Number(nano);
}

export function nanoUsdToAtto(amountNanoUsd: NanoUsd): bigint {
  return BigInt(amountNanoUsd) * ATTO_PER_NANO;
}

/** Units of a stablecoin in a token unit. The minter takes no stablecoin with fewer than 6 decimals. */
export function stablecoinUnits(decimals: number): bigint {
  return 10n ** BigInt(decimals - TOKEN_DECIMALS);
}

/** `1234500000` -> `"1.2345"`: exact, without an exponent or trailing zeros. */
export function formatUsd(amountNanoUsd: NanoUsd): string {
  return formatDecimal(BigInt(amountNanoUsd), 9);
}

/**
 * `"1.2345"` -> `1234500000`. Undefined unless it is a plain non-negative decimal of at most 9 places and 9e15 nano.
 */
export function parseUsd(text: string): NanoUsd | undefined {
  const nano = parseDecimal(text, 9);
  return nano === undefined || nano > BigInt(MAX_NANO_USD) ? undefined : Number(nano);
}

/** An integer scaled by 10^decimals as an exact decimal string. */
export function formatDecimal(scaled: bigint, decimals: number): string {
  const sign = scaled < 0n ? "-" : "";
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** A plain non-negative decimal scaled by 10^decimals; undefined if it is not one or does not fit exactly. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = /^(\d{1,30})(?:\.(\d{1,40}))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = "", rawFraction = ""] = match;
  const fraction = rawFraction.replace(/0+$/, "");
  if (fraction.length > decimals) return undefined;
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

export class MoneyError extends Error {
  override name = "MoneyError";
}
