const encoder = new TextEncoder();

/** The bytes of a text as UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}
