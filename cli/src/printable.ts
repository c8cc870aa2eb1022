/** Text of others as a terminal may have it: a model's answer must not move the cursor, or set the clipboard. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is left out
  return text.replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
