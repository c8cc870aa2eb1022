import { decodeBase32, encodeBase32 } from "./base32.ts";

/**
 * Request ids: `req_` and 26 characters, a 48-bit time in ms and 80 random bits, so that ids sort by time. One id names a
 * request everywhere: the `x-request-id` header, its hold, its use and its receipt.
 */
export type RequestId = string;

/** @param random 10 random bytes. */
export function makeRequestId(atMs: number, random: Uint8Array): RequestId {
  const bytes = new Uint8Array(16);
  for (let index = 5, rest = atMs; index >= 0; index--, rest = Math.floor(rest / 256)) bytes[index] = rest % 256;
  bytes.set(random.subarray(0, 10), 6);
  return `req_${encodeBase32(bytes)}`;
}

export function isRequestId(text: string): text is RequestId {
  return /^req_[0-9a-hjkmnp-tv-z]{26}$/.test(text) && decodeBase32(text.slice(4)) !== undefined;
}
