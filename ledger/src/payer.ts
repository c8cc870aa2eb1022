import type { CredentialFault, Payer } from "./commands.ts";
import type { Rows } from "./tables.ts";

/**
 * Who a credential's digest belongs to, in its own partition. The digest is of a secret of 160 random bits, so looking
 * it up tells nobody anything about another.
 */
export function authenticate(
  rows: Rows,
  payer: Payer,
  atMs: number,
): { keyId: string | null } | { fault: CredentialFault } {
  return payer.kind === "key"
    ? authenticateKey(rows, payer.digest, atMs)
    : authenticateSession(rows, payer.digest, atMs);
}

function authenticateKey(rows: Rows, digest: string, atMs: number): { keyId: string } | { fault: CredentialFault } {
  const secret = rows.get("secret", digest);
  const key = secret === undefined ? undefined : rows.get("key", secret.keyId);
  if (key === undefined) return { fault: "unknown" };
  if (key.revokedAt !== null) return { fault: "revoked" };
  if (key.expiresAt !== null && key.expiresAt <= atMs) return { fault: "expired" };
  if (key.disabled !== 0) return { fault: "disabled" };
  return { keyId: key.id };
}

function authenticateSession(rows: Rows, digest: string, atMs: number): { keyId: null } | { fault: CredentialFault } {
  const session = rows.get("session", digest);
  if (session === undefined) return { fault: "unknown" };
  if (session.revokedAt !== null) return { fault: "revoked" };
  if (session.expiresAt <= atMs) return { fault: "expired" };
  return { keyId: null };
}
