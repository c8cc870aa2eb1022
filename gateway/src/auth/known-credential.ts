import type { LedgerClient } from "@inference/ledger/client";
import type { CredentialFault, PayerCredential } from "@inference/ledger/commands";
import type { SessionRow } from "@inference/ledger/tables";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
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

export function credentialError({ kind }: PayerCredential, fault: CredentialFault): GatewayError {
  if (kind === "key") return new GatewayError(keyFaults[fault]);
  return new GatewayError(fault === "expired" ? SESSION_EXPIRED : SESSION_INVALID);
}

const keyFaults: Readonly<Record<CredentialFault, ErrorDetail>> = {
  expired: { code: "key_expired", message: "This API key has expired. Create another one." },
  disabled: { code: "key_disabled", message: "This API key is disabled. Enable it, or use another one." },
  revoked: { code: "invalid_api_key", message: "This API key has been revoked. Use another one." },
  unknown: { code: "invalid_api_key", message: "This API key does not exist." },
};
const SESSION_EXPIRED: ErrorDetail = { code: "session_expired", message: "This session has expired. Sign in again." };
const SESSION_INVALID: ErrorDetail = { code: "invalid_session", message: "This session is not valid. Sign in again." };
