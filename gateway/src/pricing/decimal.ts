const DECIMAL = /^(\d{1,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * A non-negative decimal, as text or as a number of a JSON body, scaled by 10^places and rounded half up; undefined if
 * it is none.
 *
 * A JSON number that was printed from a binary float, like `0.009200000000000002`, has its noise from the sixteenth
 * digit on: `String` prints the same digits again, and rounding to `places` leaves the decimal that was meant.
 */
export function roundDecimal(value: unknown, places: number): bigint | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const match = DECIMAL.exec(String(value));
  if (match === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const shift = places - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor / 2n) / divisor;
}
