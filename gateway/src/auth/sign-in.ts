import { accountPartition, agentPartition, identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { VerifiedCredential } from "./credentials.ts";
import { type SignedMessage, verifySignIn } from "./siwe.ts";

export type SignIn = SignedMessage & {
  /** To speak for an agent: its token, which the signer must own. */
  agentToken: Address | null;
};

/**
 * A session for whoever signed, or for the agent they own. The message is used up and the session there in one saga: of
 * the same message sent twice at once, one signs in.
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
    // A message that was used up without a session would have to be signed again.
    { insist: true },
  );
  if (!opened) fail("siwe_nonce_used", "This message was already used. Sign one with a new nonce.");
  await cacheSession(gateway, token, { value: { address, agentToken }, expiresAt });
  return { token };
}

/** Ends a session everywhere. Ending it again is harmless. */
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

/** The key-value store's copy. The identity's partition is the authority, so that a failing store keeps nobody out. */
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
