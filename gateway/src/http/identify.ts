import type { CredentialFault } from "@inference/ledger/commands";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { SessionRow } from "@inference/ledger/tables";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import type { VerifiedCredential } from "../identity/credentials.ts";
import { credentialError } from "../inference/refusal.ts";
import type { GatewayContext } from "./context.ts";
import { requireCredential } from "./credential.ts";

/** Who a request is from, looked up in the partition that knows: a revoked or expired credential ends here. */
export type KeyHolder = { account: Address; partition: Partition; keyId: string };

/** The account of the API key that was sent. Throws 401 for a bad one, 403 for a session. */
export async function requireApiKey(context: GatewayContext): Promise<KeyHolder> {
  const credential = requireCredential(context);
  const message = "This route is read with an API key, and this is a session: send the key.";
  if (credential.payer.kind !== "key") fail("wrong_identity", message);
  const { keyId } = await lookUpCredential(context, credential);
  if (keyId === null) throw credentialError(credential.payer, "unknown");
  return { account: credential.subject, partition: credential.partition, keyId };
}

/** Whose receipts somebody may read: those of a partition, or of one key in it. */
export type Reader = { partition: Partition; keyId: string | null };

/**
 * What the credential may read of one budget. An API key reads its own; a wallet's session all that its keys spent of
 * the balance, or what sessions spent of the capacity; an agent's session the latter. Throws 401 for a bad one, 403
 * for a budget that it has not.
 */
export async function requireReader(context: GatewayContext, budget?: "balance" | "capacity"): Promise<Reader> {
  const readers = await requireReaders(context);
  const found = budget === undefined ? readers[0] : readers.find(({ partition }) => budgetOf(partition) === budget);
  return (
    found ?? fail("wrong_identity", `This credential has no ${budget}: leave \`budget\` out.`, { param: "budget" })
  );
}

/** Everything that the credential may read. */
export async function requireReaders(context: GatewayContext): Promise<Reader[]> {
  const credential = requireCredential(context);
  const { keyId, session } = await lookUpCredential(context, credential);
  if (credential.payer.kind === "key") {
    if (keyId === null) throw credentialError(credential.payer, "unknown");
    return [{ partition: credential.partition, keyId }];
  }
  if (session === null) throw credentialError(credential.payer, "unknown");
  const capacity = { partition: credential.partition, keyId: null };
  if (session.agentToken !== null) return [capacity];
  return [{ partition: accountPartition(lowerAddress(session.address)), keyId: null }, capacity];
}

function budgetOf(partition: Partition): "balance" | "capacity" {
  return partition.startsWith("account:") ? "balance" : "capacity";
}

/**
 * The account of the wallet whose session was sent. Throws 401 for a bad one, 403 for an agent's and for an API key.
 */
export async function requirePersonalSession(
  context: GatewayContext,
): Promise<{ account: Address; partition: Partition }> {
  const { credential } = requireSessionToken(context);
  const { session } = await lookUpCredential(context, credential);
  if (session === null) throw credentialError(credential.payer, "unknown");
  if (session.agentToken !== null) {
    fail(
      "wrong_identity",
      "This session speaks for an agent: sign in without agentToken to manage your wallet's keys.",
    );
  }
  return { account: lowerAddress(session.address), partition: accountPartition(lowerAddress(session.address)) };
}

/** A session token of ours, which may have ended by now. Throws 401 for a bad one, 403 for an API key. */
export function requireSessionToken(context: GatewayContext): { token: string; credential: VerifiedCredential } {
  const credential = requireCredential(context);
  const message = "This takes a session, and this is an API key: sign in with POST /auth and send its token.";
  if (credential.payer.kind !== "session") fail("wrong_identity", message);
  const [, token = ""] =
    context.req
      .header("authorization")
      ?.trim()
      .split(/[ \t]+/) ?? [];
  return { token, credential };
}

/**
 * What the credential's partition knows of it. Throws 401 or 403 for one that is not good now, which that of an agent's
 * former owner is not.
 */
export async function lookUpCredential(
  context: GatewayContext,
  { partition, payer }: VerifiedCredential,
): Promise<{ keyId: string | null; session: SessionRow | null }> {
  const { gateway, at } = context.var;
  const found: { fault: CredentialFault } | { keyId: string | null; session: SessionRow | null } =
    await gateway.environment.ledger.read(partition, { type: "credential", at, payer });
  if ("fault" in found) throw credentialError(payer, found.fault);
  const { address, agentToken } = found.session ?? {};
  if (address !== undefined && agentToken) {
    await gateway.agentOwners.requireLately(lowerAddress(agentToken), lowerAddress(address));
  }
  return found;
}
