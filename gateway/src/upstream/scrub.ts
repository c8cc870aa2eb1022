const MAX_MESSAGE = 300;

/**
 * Makes a text of the provider's fit to be seen by a client: our key, and whatever looks like one, is cut out, and what
 * is left is one short line.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "[removed]");
  return clean
    .replace(/\b(sk|pk|key|org|proj)[-_][\w-]{8,}/gi, "[removed]")
    .replace(/\b[\w-]{32,}\b/g, "[removed]")
    .replace(/https?:\/\/\S+/g, "[link]")
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, MAX_MESSAGE);
}
