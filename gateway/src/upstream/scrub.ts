import type { SecretFilter } from "./secret-writings.ts";

const MAX_MESSAGE = 300;

/**
 * Makes a provider's text safe to show to a client: removes the operator's keys in all encodings, and everything that
 * looks like a key or a link, and shortens it to one line.
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
