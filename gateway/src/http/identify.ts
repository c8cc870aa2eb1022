import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { SessionRow } from "@inference/ledger/tables";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { errorTable, fail, GatewayError } from "@inference/protocol/errors";
import type { VerifiedCredential } from "../auth/credentials.ts";
import { type KnownCredential, readCredential } from "../inference/funding.ts";
import { credentialError } from "../inference/refusal.ts";
import type { GatewayContext } from "./context.ts";
import { presentedCredential, requireCredential, type Wanted } from "./credential.ts";

/** Who a request is from, looked up in the partition that knows: a revoked or expired credential ends here. */
export type KeyHolder = { account: Address; partition: Partition; keyId: string };

export type SessionHolder = { partition: Partition; session: SessionRow };

/** Whose the credential is that was sent. Throws 401 or 403 for one that is not good now. */
export async function requireHolder(context: GatewayContext, wanted?: Wanted): Promise<KeyHolder | SessionHolder> {
  const credential = requireCredential(context, wanted);
  const { subject, partition, payer } = credential;
  const { keyId, session } = await lookUpCredential(context, credential);
  if (keyId !== null) return { account: subject, partition, keyId };
  if (session !== null) return { partition, session };
  throw credentialError(payer, "unknown");
}

/** The account of the key, or of the wallet's session, that was sent. Throws 401 for a bad one, 403 for an agent's. */
export async function requireAccount(context: GatewayContext): Promise<{ account: Address; partition: Partition }> {
  const holder = await requireHolder(context);
  return "keyId" in holder ? holder : personalAccount(holder);
}

/** Whose receipts somebody may read: those of a partition, or of one key in it. */
export type Reader = { partition: Partition; keyId: string | null };

/**
 * Everything that the credential may read. An API key reads its own; a wallet's session all that its keys spent of the
 * balance, and what sessions spent of the capacity; an agent's session the latter. Throws 401 for a bad one.
 */
export async function requireReaders(context: GatewayContext): Promise<Reader[]> {
  const holder = await requireHolder(context);
  if ("keyId" in holder) return [holder];
  const { partition, session } = holder;
  const capacity = { partition, keyId: null };
  if (session.agentToken !== null) return [capacity];
  return [{ partition: accountPartition(lowerAddress(session.address)), keyId: null }, capacity];
}

/** The one of one budget; the first without one. Throws 403 for a budget that it has not. */
export function readerOf(readers: readonly Reader[], budget: "balance" | "capacity" | undefined): Reader {
  const found = budget === undefined ? readers[0] : readers.find(({ partition }) => budgetOf(partition) === budget);
  return (
    found ?? fail("wrong_identity", `This credential has no ${budget}: leave \`budget\` out.`, { param: "budget" })
  );
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
  const holder = await requireHolder(context, "session");
  return "keyId" in holder ? notASession() : personalAccount(holder);
}

function personalAccount({ session }: SessionHolder): { account: Address; partition: Partition } {
  if (session.agentToken !== null) {
    const message =
      "This session belongs to an agent. Sign in without `agentToken` for your wallet's balance and keys.";
    fail("wrong_identity", message);
  }
  const account = lowerAddress(session.address);
  return { account, partition: accountPartition(account) };
}

/** A session token of ours, which may have ended by now. Throws 401 for a bad one, 403 for an API key. */
export async function requireSessionToken(
  context: GatewayContext,
): Promise<{ token: string; credential: VerifiedCredential }> {
  const credential = requireCredential(context, "session");
  if (credential.payer.kind !== "session") {
    await lookUpCredential(context, credential);
    notASession();
  }
  const [, token = ""] =
    context.req
      .header("authorization")
      ?.trim()
      .split(/[ \t]+/) ?? [];
  return { token, credential };
}

function notASession(): never {
  const message = "This needs a session, and an API key was sent. Sign in with POST /auth and send its token.";
  return fail("wrong_identity", message);
}

/**
 * What the credential's partition knows of it. Throws 401 or 403 for one that is not good now, which that of an agent's
 * former owner is not.
 */
export async function lookUpCredential(
  context: GatewayContext,
  credential: VerifiedCredential,
): Promise<KnownCredential> {
  const { gateway, at, client } = context.var;
  const { agentOwners, seen } = gateway;
  const { digest } = credential.payer;
  try {
    const found = await readCredential(gateway, credential, at);
    const { address, agentToken } = found.session ?? {};
    if (address !== undefined && agentToken) {
      await agentOwners.requireLately(lowerAddress(agentToken), lowerAddress(address), client);
    }
    seen.accept(digest, at);
    return found;
  } catch (error) {
    if (refusesCredential(error)) seen.refuse(digest);
    throw error;
  }
}

/** For endpoints that need no credential. Clients try a key by listing the models: a bad one must not look good. */
export async function checkPresentedCredential(context: GatewayContext): Promise<void> {
  const credential = presentedCredential(context);
  if (credential !== undefined) await lookUpCredential(context, credential);
}

/** Whether an error refuses the credential itself, and does not say that it could not be looked up. */
export function refusesCredential(error: unknown): boolean {
  return error instanceof GatewayError && [401, 403].includes(errorTable[error.detail.code].status);
}
