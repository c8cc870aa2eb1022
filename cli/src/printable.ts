/**
 * Foreign text, safe for a terminal: a model's answer must not move the cursor, set the clipboard, or change the order
 * in which the letters around it are shown.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out
  return text.replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** A foreign name or sentence must not look like a line of ours. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** JSON with `\u` escapes for all control characters. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/[\x7f-\x9f]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
