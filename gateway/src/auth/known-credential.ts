import type { LedgerClient } from "@inference/ledger/client";
import type { CredentialFault, PayerCredential } from "@inference/ledger/commands";
import type { SessionRow } from "@inference/ledger/tables";
import { GatewayError } from "@inference/protocol/errors";
import type { VerifiedCredential } from "./credentials.ts";
import { spenderOf, spenderPartition } from "./spender.ts";

/** One is set: an API key's id, or a session. */
export type KnownCredential = { keyId: string | null; session: SessionRow | null };

/**
 * Reads a credential from its partition, because the key-value store's copy of a session may outlive it. Throws 401 or
 * 403 for a credential that is not valid now.
 */
export async function readCredential(
  ledger: LedgerClient,
  { partition, payer }: VerifiedCredential,
  at: number,
): Promise<KnownCredential> {
  const found = await ledger.read(partition, { type: "credential", at, payer });
  if ("fault" in found) throw credentialError(payer, found.fault);
  const { session } = found;
  // An older version kept agents' sessions in the partitions of wallets, where they would have another capacity.
  if (session !== null && spenderPartition(spenderOf(session)) !== partition) throw credentialError(payer, "unknown");
  return found;
}

export function credentialError(payer: PayerCredential, fault: CredentialFault): GatewayError {
  if (payer.kind === "session") {
    const expired = fault === "expired";
    return new GatewayError({
      code: expired ? "session_expired" : "invalid_session",
      message: expired ? "This session has expired. Sign in again." : "This session is not valid. Sign in again.",
    });
  }
  if (fault === "expired") {
    return new GatewayError({ code: "key_expired", message: "This API key has expired. Create another one." });
  }
  if (fault === "disabled") {
    return new GatewayError({
      code: "key_disabled",
      message: "This API key is disabled. Enable it, or use another one.",
    });
  }
  return new GatewayError({
    code: "invalid_api_key",
    message: fault === "revoked" ? "This API key has been revoked. Use another one." : "This API key does not exist.",
  });
}
