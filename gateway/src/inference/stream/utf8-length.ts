/** The bytes of a text as UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text);
}
