import type { Draft } from "../rows/draft.ts";
import type { Rule } from "./place.ts";

/** Sign-in nonces, each valid once, and the sessions that they open. */

export const consumeNonce: Rule<"consumeNonce"> = ({ draft }, command) => {
  const spent = draft.get("nonce", command.nonce);
  if (spent !== undefined) return { status: spent.digest === command.digest ? "consumed" : "nonce_used" };
  draft.put("nonce", { id: command.nonce, expiresAt: command.expiresAt, digest: command.digest });
  return { status: "consumed" };
};

/** Stores the nonce of a key's message for as long as the message could be valid. */
export function spendNonce(draft: Draft, nonce: string, expiresAt: number, digest: string | null = null): void {
  draft.put("nonce", { id: nonce, expiresAt, digest });
}

export const openSession: Rule<"openSession"> = ({ draft }, command) => {
  if (draft.get("session", command.digest) === undefined) {
    draft.put("session", {
      id: command.digest,
      address: command.address,
      agentToken: command.agentToken,
      createdAt: command.at,
      expiresAt: command.expiresAt,
      revokedAt: null,
    });
  }
  return { status: "opened" };
};

export const revokeSession: Rule<"revokeSession"> = ({ draft }, command) => {
  const session = draft.get("session", command.digest);
  if (session === undefined) return { status: "unknown" };
  if (session.revokedAt === null) draft.put("session", { ...session, revokedAt: command.at });
  return { status: "revoked" };
};
