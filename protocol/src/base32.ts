/** Crockford's base 32, lower case: no padding, no ambiguous characters, and a double click selects all of it. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const letterValues = new Map([...alphabet].map((letter, value) => [letter.charCodeAt(0), value]));

/** For short texts: ids, checksums and secrets. */
export function encodeBase32(bytes: Uint8Array): string {
  const letters: number[] = [];
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      letters.push(alphabet.charCodeAt((buffer >>> bits) & 31));
    }
    buffer &= (1 << bits) - 1;
  }
  if (bits > 0) letters.push(alphabet.charCodeAt((buffer << (5 - bits)) & 31));
  return String.fromCharCode(...letters);
}

/** Undefined unless the text is exactly the output of `encodeBase32` for some bytes. */
export function decodeBase32(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8));
  let buffer = 0;
  let bits = 0;
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const value = letterValues.get(text.charCodeAt(index));
    if (value === undefined) return undefined;
    buffer = (buffer << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = (buffer >>> bits) & 255;
    }
    buffer &= (1 << bits) - 1;
  }
  return bits < 5 && buffer === 0 ? bytes : undefined;
}
