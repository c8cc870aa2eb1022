import type { CredentialFault, Refusal } from "@inference/ledger/commands";
import type { BudgetView } from "@inference/ledger/reads";
import type { SessionRow } from "@inference/ledger/tables";
import { lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { Gateway } from "../gateway.ts";
import type { VerifiedCredential } from "../identity/credentials.ts";
import type { Spender } from "../upstream/key-records.ts";
import { credentialError } from "./refusal.ts";

/** What a request is paid and sent with. */
export type Means = {
  /** Whose capacity pays; null for an account's balance. */
  spender: Spender | null;
  /** The key at the provider that the request is sent with. */
  upstreamKey: string;
};

/**
 * The means of a session, whose capacity the chain decides: as of now, that is what its identity's budget has. Throws
 * 401 for a session that is not good now, and whatever keeps its capacity from being known.
 */
export async function readSessionMeans(gateway: Gateway, credential: VerifiedCredential, at: number): Promise<Means> {
  const spender = await readSpender(gateway, credential, at);
  return { spender, upstreamKey: await readyKey(gateway, spender, at) };
}

/**
 * The budget that a request of this cost is beyond, however those end that are in flight; null if none is. Nothing is
 * held: the reserve decides. Throws 401 for a credential that is not good now.
 */
export async function exhausted(
  { environment }: Gateway,
  { partition, payer }: VerifiedCredential,
  { at, neededNanoUsd }: { at: number; neededNanoUsd: NanoUsd },
): Promise<Refusal | null> {
  const { ledger } = environment;
  const short = (budget: Refusal["budget"], view: BudgetView): Refusal | null => {
    const { limitNanoUsd, settledNanoUsd, availableNanoUsd, window, resetsAt } = view;
    if (limitNanoUsd === null || neededNanoUsd <= Math.max(0, limitNanoUsd - settledNanoUsd)) return null;
    return { budget, cause: "settled", neededNanoUsd, availableNanoUsd: availableNanoUsd ?? 0, window, resetsAt };
  };
  const found: { fault: CredentialFault } | { keyId: string | null } = await ledger.read(partition, {
    type: "credential",
    at,
    payer,
  });
  if ("fault" in found) throw credentialError(payer, found.fault);
  if (found.keyId === null) return short("capacity", await ledger.read(partition, { type: "capacity", at }));
  const [balance, key] = await Promise.all([
    ledger.read(partition, { type: "balance", at }),
    ledger.read(partition, { type: "key", at, keyId: found.keyId }),
  ]);
  return short("balance", balance) ?? (key === null ? null : short("key", key.budget));
}

/** Throws 503 `overloaded` for who has nothing to spend, whatever it would take, where not all can be served. */
export async function requirePayer(gateway: Gateway, credential: VerifiedCredential, at: number): Promise<void> {
  if (credential.payer.kind === "session") await readSessionMeans(gateway, credential, at);
  if ((await exhausted(gateway, credential, { at, neededNanoUsd: 1 })) === null) return;
  fail("overloaded", "Too many large requests are in flight: try again in a moment.", { retryAfterS: 2 });
}

/** Whom a session speaks for. Its partition is asked, for the key-value store's copy may outlive it. */
async function readSpender(
  { environment }: Gateway,
  { partition, payer }: VerifiedCredential,
  at: number,
): Promise<Spender> {
  const found: { fault: CredentialFault } | { session: SessionRow | null } = await environment.ledger.read(partition, {
    type: "credential",
    at,
    payer,
  });
  if ("fault" in found) throw credentialError(payer, found.fault);
  if (found.session === null) throw credentialError(payer, "unknown");
  const { address, agentToken } = found.session;
  return { address: lowerAddress(address), agentToken: agentToken === null ? null : lowerAddress(agentToken) };
}

/** Asks the chain both questions at once, so that a request waits for it two seconds at most. */
async function readyKey({ agentOwners, keyRecords }: Gateway, spender: Spender, at: number): Promise<string> {
  const { address, agentToken } = spender;
  const [key] = await Promise.all([
    keyRecords.keyFor(spender, at),
    agentToken === null ? undefined : agentOwners.requireLately(agentToken, address),
  ]);
  return key;
}
