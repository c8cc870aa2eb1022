/** Reads JSON's smallest parts in bytes. A place is one in `bytes`; -1 says that there is no such part there. */
const encoder = new TextEncoder();
const literals = [encoder.encode("null"), encoder.encode("true"), encoder.encode("false")];

const TAB = 9;
const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const LETTER_E = 101;

export function skipPrimitive(bytes: Uint8Array, at: number, end: number): number {
  for (const literal of literals) {
    if (bytes[at] !== literal[0]) continue;
    const after = at + literal.length;
    return after <= end && is(bytes, at, after, literal) ? skipSpace(bytes, after, end) : -1;
  }
  return skipNumber(bytes, at, end);
}

export function skipNumber(bytes: Uint8Array, start: number, end: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  const whole = at;
  at = skipDigits(bytes, at, end);
  if (at === whole || (bytes[whole] === ZERO && at > whole + 1)) return -1;
  if (bytes[at] === POINT) {
    const fraction = at + 1;
    at = skipDigits(bytes, fraction, end);
    if (at === fraction) return -1;
  }
  if (((bytes[at] ?? 0) | 32) === LETTER_E) {
    const exponent = bytes[at + 1] === MINUS || bytes[at + 1] === PLUS ? at + 2 : at + 1;
    at = skipDigits(bytes, exponent, end);
    if (at === exponent) return -1;
  }
  return skipSpace(bytes, at, end);
}

/** The whole number of one or two digits at `at`; -1 for any other value. */
export function smallNumber(bytes: Uint8Array, at: number): number {
  const after = skipDigits(bytes, at, at + 3);
  if (after === at || after === at + 3 || bytes[after] === POINT || ((bytes[after] ?? 0) | 32) === LETTER_E) return -1;
  const ones = (bytes[after - 1] as number) - ZERO;
  return after === at + 1 ? ones : ((bytes[at] as number) - ZERO) * 10 + ones;
}

export function skipDigits(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= ZERO + 9) at++;
  return at;
}

/** UTF-8 bytes of `\uXXXX`; -1 for half of a surrogate pair, whose length depends on the other half. */
export function escapedBytes(bytes: Uint8Array, at: number, end: number): number {
  const unit = hex4(bytes, at, end);
  if (unit < 0x80) return unit < 0 ? -1 : 1;
  if (unit < 0x800) return 2;
  if (unit < 0xd800 || unit > 0xdfff) return 3;
  return -1;
}

export function hex4(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  let value = 0;
  for (let index = at; index < at + 4; index++) {
    const byte = (bytes[index] as number) | 32;
    const digit = byte >= 48 && byte <= 57 ? byte - 48 : byte >= 97 && byte <= 102 ? byte - 87 : -1;
    if (digit === -1) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** Line ends are not space here: a JSON value over several lines is not plain. */
export function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  return at;
}

export function is(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) if (bytes[start + index] !== name[index]) return false;
  return true;
}
