import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { SessionRow } from "@inference/ledger/tables";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { errorTable, fail, GatewayError } from "@inference/protocol/errors";
import type { VerifiedCredential } from "../auth/credentials.ts";
import { credentialError, type KnownCredential, readCredential } from "../auth/known-credential.ts";
import type { GatewayContext } from "./context.ts";
import { presentedCredential, presentedToken, requireCredential, type Wanted } from "./credential.ts";

/** An API key, after it was looked up in its partition. */
export type KeyHolder = { account: Address; partition: Partition; keyId: string };

export type SessionHolder = { partition: Partition; session: SessionRow };

/** Looks up the credential that was sent. Throws 401 or 403 unless it is valid now. */
export async function requireHolder(context: GatewayContext, wanted?: Wanted): Promise<KeyHolder | SessionHolder> {
  const credential = requireCredential(context, wanted);
  const { subject, partition, payer } = credential;
  const { keyId, session } = await lookUpCredential(context, credential);
  if (keyId !== null) return { account: subject, partition, keyId };
  if (session !== null) return { partition, session };
  throw credentialError(payer, "unknown");
}

/** An account, and the key of it that was sent. */
export type AccountHolder = { account: Address; partition: Partition; keyId?: string };

/** The account of the key or wallet session that was sent. Throws 401 if it is invalid, 403 for an agent's session. */
export async function requireAccount(context: GatewayContext): Promise<AccountHolder> {
  const holder = await requireHolder(context);
  return "keyId" in holder ? holder : personalAccount(holder);
}

/** The receipts that a credential may read: those of a partition, or of one key in it. */
export type Reader = { partition: Partition; keyId: string | null };

/**
 * All receipts that the credential may read. An API key reads its own. A wallet's session reads those of all keys,
 * which spend the balance, and of all sessions, which spend the capacity. An agent's session reads those of sessions.
 * Throws 401 if it is invalid.
 */
export async function requireReaders(context: GatewayContext): Promise<Reader[]> {
  const holder = await requireHolder(context);
  if ("keyId" in holder) return [holder];
  const { partition, session } = holder;
  const capacity = { partition, keyId: null };
  if (session.agentToken !== null) return [capacity];
  return [{ partition: accountPartition(lowerAddress(session.address)), keyId: null }, capacity];
}

/** The receipts of one budget; of the first if none is named. Throws 403 for a budget that the credential lacks. */
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
 * The account of the wallet whose session was sent. Throws 401 if it is invalid, 403 for an agent's session or a key.
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

/** The session token that was sent, which may have ended. Throws 401 if it is invalid, 403 for an API key. */
export async function requireSessionToken(
  context: GatewayContext,
): Promise<{ token: string; credential: VerifiedCredential }> {
  const credential = requireCredential(context, "session");
  if (credential.payer.kind !== "session") {
    await lookUpCredential(context, credential);
    notASession();
  }
  return { token: presentedToken(context, "session") ?? "", credential };
}

function notASession(): never {
  const message = "This needs a session, and an API key was sent. Sign in with POST /auth and send its token.";
  return fail("wrong_identity", message);
}

/**
 * Reads a credential from its partition. Throws 401 or 403 unless it is valid now. A session for an agent is invalid
 * once its wallet no longer owns the agent.
 */
export async function lookUpCredential(
  context: GatewayContext,
  credential: VerifiedCredential,
): Promise<KnownCredential> {
  const { gateway, at, client } = context.var;
  const { agentOwners, seen } = gateway;
  const { digest } = credential.payer;
  try {
    const found = await readCredential(gateway.environment.ledger, credential, at);
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

/** For public endpoints. Clients test a key by listing the models, so an invalid one is refused there too. */
export async function checkPresentedCredential(context: GatewayContext): Promise<void> {
  const credential = presentedCredential(context);
  if (credential !== undefined) await lookUpCredential(context, credential);
}

/** Whether an error refuses the credential itself, and does not say that it could not be looked up. */
export function refusesCredential(error: unknown): boolean {
  return error instanceof GatewayError && [401, 403].includes(errorTable[error.detail.code].status);
}
