import { capacityId } from "./budget.ts";
import type { Commands, ReplyOf } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { forgetEndedCapacities } from "./forget-counters.ts";
import type { ReadRows } from "./tables.ts";

/** Sign-in nonces, each valid once, and the sessions that they open. */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function consumeNonce(draft: Draft, command: CommandOf<"consumeNonce">): ReplyOf<CommandOf<"consumeNonce">> {
  const spent = draft.get("nonce", command.nonce);
  if (spent !== undefined) return { status: spent.digest === command.digest ? "consumed" : "nonce_used" };
  draft.put("nonce", { id: command.nonce, expiresAt: command.expiresAt, digest: command.digest ?? null });
  return { status: "consumed" };
}

/** Stores the nonce of a key's message for as long as the message could be valid. */
export function spendNonce(draft: Draft, nonce: string, expiresAt: number, digest: string | null = null): void {
  draft.put("nonce", { id: nonce, expiresAt, digest });
}

export function openSession(draft: Draft, command: CommandOf<"openSession">): ReplyOf<CommandOf<"openSession">> {
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
}

export function revokeSession(draft: Draft, command: CommandOf<"revokeSession">): ReplyOf<CommandOf<"revokeSession">> {
  const session = draft.get("session", command.digest);
  if (session === undefined) return { status: "unknown" };
  if (session.revokedAt === null) draft.put("session", { ...session, revokedAt: command.at });
  return { status: "revoked" };
}

/**
 * The chain's answer for the UTC day of `at`. A day without an answer has no capacity. The first answer for a day
 * deletes those of days that are over, because an agent that sells need not have a session that does.
 */
export function setCapacity(
  draft: Draft,
  rows: ReadRows,
  command: CommandOf<"setCapacity">,
): ReplyOf<CommandOf<"setCapacity">> {
  if (draft.get("budget", capacityId(command.at)) === undefined) forgetEndedCapacities(draft, rows, command.at);
  draft.put("budget", { id: capacityId(command.at), window: "day", limitNanoUsd: command.limitNanoUsd });
  return { status: "set" };
}
