/** Exact decimal money: USD as bigint atto-USD (1e-18). No float is ever added or multiplied. */

const ATTO_PER_NANO = 10n ** 9n;
const PRICE_PLACES = 10;

/**
 * Reads a price of the catalogue. A price has at most ten decimal places. Further digits of a JSON float
 * (0.009200000000000002) are binary noise and are rounded off, half up.
 */
export function attoFromPrice(text: string): bigint {
  const match = /^(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (match === null) throw new RangeError(`not a decimal amount: ${text}`);
  const fraction = match[2] ?? "";
  const digits = BigInt((match[1] ?? "0") + fraction);
  const shift = Number(match[3] ?? "0") - fraction.length + PRICE_PLACES;
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : divideHalfUp(digits, 10n ** BigInt(-shift));
  return scaled * 10n ** BigInt(18 - PRICE_PLACES);
}

function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}

/** Atto-USD as a plain decimal of dollars, without trailing zeros: valid as a JSON number. */
export function usdFromAtto(atto: bigint): string {
  const negative = atto < 0n;
  const digits = (negative ? -atto : atto).toString().padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  const whole = digits.slice(0, -18);
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** One request's bill in nano-USD, rounded up once. */
export function nanoRoundedUp(atto: bigint): bigint {
  return (atto + ATTO_PER_NANO - 1n) / ATTO_PER_NANO;
}

export function smaller(a: bigint, b: bigint): bigint {
  return a > b ? b : a;
}
