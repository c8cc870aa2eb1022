/** Writes a body to send. */
export function writeBody(fields: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(fields));
}
