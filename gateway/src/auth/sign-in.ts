import { accountPartition, agentPartition, identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { VerifiedCredential } from "./credentials.ts";
import { type SignedMessage, verifySignIn } from "./siwe.ts";

export type SignIn = SignedMessage & {
  /** The agent to sign in for, whose token the signer must own; null for the wallet itself. */
  agentToken: Address | null;
};

/**
 * Opens a session for the signer, or for an agent that the signer owns. One saga uses the message's nonce and opens the
 * session, so a message that is sent twice at the same time signs in once.
 */
export async function signIn(gateway: Gateway, request: SignIn, atMs: number): Promise<{ token: string }> {
  const { environment, credentials } = gateway;
  const { address, nonce, nonceExpiresAt } = await verifySignIn(gateway, request, atMs);
  const agentToken = request.agentToken === null ? null : lowerAddress(request.agentToken);
  if (agentToken !== null) {
    const { client } = request;
    await gateway.agentSignIns(() => gateway.agentOwners.requireNow(agentToken, address, client), client);
  }
  const [kind, identity] = agentToken === null ? (["is", address] as const) : (["ia", agentToken] as const);
  const { text: token, digest } = credentials.issue(kind, identity);
  const partition = agentToken === null ? identityPartition(address) : agentPartition(agentToken);
  const expiresAt = atMs + limits.sessionMs;
  const opened = await environment.ledger.run(
    function* () {
      const consumed = yield* send(accountPartition(address), {
        type: "consumeNonce",
        at: atMs,
        nonce,
        expiresAt: nonceExpiresAt,
        digest,
      });
      if (consumed.status === "nonce_used") return false;
      const session = { digest, address, agentToken, expiresAt };
      yield* send(partition, { type: "openSession", at: atMs, ...session });
      return true;
    },
    // Without a session the nonce would be used, and the wallet would have to sign again.
    { insist: true },
  );
  if (!opened) fail("siwe_nonce_used", "This message was already used. Sign one with a new nonce.");
  await cacheSession(gateway, token, { value: { address, agentToken }, expiresAt });
  return { token };
}

/** Ends a session everywhere. Safe to repeat. */
export async function signOut(
  gateway: Gateway,
  { token, credential }: { token: string; credential: VerifiedCredential },
  atMs: number,
): Promise<void> {
  const { partition, payer } = credential;
  const { ledger } = gateway.environment;
  const { status } = await ledger.run(() => send(partition, { type: "revokeSession", at: atMs, digest: payer.digest }));
  if (status === "unknown") fail("invalid_session", "This session is not valid. Sign in again.");
  await cacheSession(gateway, token, null);
}

type CachedSession = { value: { address: Address; agentToken: Address | null }; expiresAt: number };

/**
 * Writes the copy in the key-value store. The identity's partition is the authority, so a failing store locks nobody
 * out.
 */
async function cacheSession({ environment }: Gateway, token: string, session: CachedSession | null): Promise<void> {
  const { keyValue, log } = environment;
  const key = `session:${token}`;
  try {
    if (session === null) await keyValue.delete(key);
    else await keyValue.put(key, JSON.stringify(session.value), { expiresAt: session.expiresAt });
  } catch (error) {
    log("warn", "session_cache", { error: String(error) });
  }
}
