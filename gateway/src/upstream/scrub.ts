import type { SecretFilter } from "./secret-writings.ts";

const MAX_MESSAGE = 300;

/**
 * Makes a text of the provider's fit to be seen by a client: our keys in all their writings, and whatever looks like a
 * key, are removed, and what is left is one short line.
 */
export function scrub(text: string, secrets: SecretFilter): string {
  return secrets
    .remove(text)
    .replace(/\b(sk|pk|key|org|proj)[-_][\w-]{8,}/gi, "[removed]")
    .replace(/\b[\w-]{32,}\b/g, "[removed]")
    .replace(/https?:\/\/\S+/g, "[link]")
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, MAX_MESSAGE);
}
