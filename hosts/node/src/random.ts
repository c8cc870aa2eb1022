import { randomFillSync } from "node:crypto";

let pool = Buffer.alloc(0);

/** Random bytes, drawn from the system 4 kB at a time. */
export function randomBytes(length: number): Uint8Array {
  if (pool.length < length) pool = randomFillSync(Buffer.allocUnsafe(Math.max(4096, length)));
  const bytes = pool.subarray(0, length);
  pool = pool.subarray(length);
  return bytes;
}
