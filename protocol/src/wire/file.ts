/** Whether a field has a file of a form. An object in JSON has no bytes, whatever its members are called. */
export function isFile(value: unknown): value is { bytes: Uint8Array } {
  return typeof value === "object" && value !== null && "bytes" in value && value.bytes instanceof Uint8Array;
}
