import type { CredentialFault, PayerCredential } from "../messages/commands.ts";
import type { Rows } from "../rows/tables.ts";

/**
 * Finds the owner of a credential's digest in its partition. The secret has 160 random bits, so the time of the lookup
 * reveals nothing about other credentials.
 */
export function authenticate(
  rows: Rows,
  payer: PayerCredential,
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
