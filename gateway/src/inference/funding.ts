import type { Refusal } from "@inference/ledger/commands";
import type { BudgetView } from "@inference/ledger/reads";
import type { SessionRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { Gateway } from "../gateway.ts";
import type { Quote } from "../pricing/quote.ts";
import { type Spender, spenderOf, spenderPartition } from "../upstream/key-records.ts";
import { credentialError, refusalError } from "./refusal.ts";
import type { InferenceRequest } from "./request.ts";

/** How a request is paid and sent. */
export type Funding = {
  /** Whose capacity pays; null for an account's balance. */
  spender: Spender | null;
  /** The key at the provider that the request is sent with. */
  upstreamKey: string;
};

/** When a request came, and from whom as far as its address tells. */
type Asker = { at: number; client: string | undefined };

/** An API key's is known. For a session see `readSessionFunding`. */
export async function fundingOf(gateway: Gateway, request: InferenceRequest): Promise<Funding> {
  const { credential } = request;
  if (credential.payer.kind === "session") return readSessionFunding(gateway, credential, request);
  return { spender: null, upstreamKey: gateway.config.upstream.apiKey };
}

/** Throws the refusal of a request that its payer could not pay, however those end that are in flight. */
export async function requireFunds(
  gateway: Gateway,
  { credential, at }: InferenceRequest,
  quote: Quote,
  spender: Spender | null,
): Promise<void> {
  const refusal = await exhausted(gateway, credential, { at, neededNanoUsd: quote.maxNanoUsd });
  // Nothing that heals in seconds, whose retries would have to be spread.
  if (refusal !== null) throw refusalError(refusal, quote, 0, spender);
}

/**
 * The funding of a session, whose capacity the chain decides: as of now, that is what its identity's budget has. Throws
 * 401 for a session that is not good now, and whatever keeps its capacity from being known.
 */
async function readSessionFunding(
  gateway: Gateway,
  credential: VerifiedCredential,
  { at, client }: Asker,
): Promise<Funding> {
  const { session } = await readCredential(gateway, credential, at);
  if (session === null) throw credentialError(credential.payer, "unknown");
  const spender = spenderOf(session);
  return { spender, upstreamKey: await readyKey(gateway, spender, { at, client }) };
}

/**
 * The budget that a request of this cost is beyond, however those end that are in flight; null if none is. Nothing is
 * held: the reserve decides. Throws 401 for a credential that is not good now.
 */
async function exhausted(
  gateway: Gateway,
  credential: VerifiedCredential,
  { at, neededNanoUsd }: { at: number; neededNanoUsd: NanoUsd },
): Promise<Refusal | null> {
  const { ledger } = gateway.environment;
  const { partition } = credential;
  const short = (budget: Refusal["budget"], view: BudgetView): Refusal | null => {
    const { limitNanoUsd, settledNanoUsd, availableNanoUsd, window, resetsAt } = view;
    if (limitNanoUsd === null || neededNanoUsd <= Math.max(0, limitNanoUsd - settledNanoUsd)) return null;
    return { budget, cause: "settled", neededNanoUsd, availableNanoUsd: availableNanoUsd ?? 0, window, resetsAt };
  };
  const { keyId } = await readCredential(gateway, credential, at);
  if (keyId === null) return short("capacity", await ledger.read(partition, { type: "capacity", at }));
  const [balance, key] = await Promise.all([
    ledger.read(partition, { type: "balance", at }),
    ledger.read(partition, { type: "key", at, keyId }),
  ]);
  return short("balance", balance) ?? (key === null ? null : short("key", key.budget));
}

/** Throws 503 `overloaded` for who has nothing to spend, whatever it would take, where not all can be served. */
export async function requirePayer(
  gateway: Gateway,
  credential: VerifiedCredential,
  { at, client }: Asker,
): Promise<void> {
  if (credential.payer.kind === "session") await readSessionFunding(gateway, credential, { at, client });
  if ((await exhausted(gateway, credential, { at, neededNanoUsd: 1 })) === null) return;
  const message = "The gateway is overloaded. Retry in 5 s.";
  fail("overloaded", message, { retryAfterS: 5 });
}

/** One of these: an API key's id, or a session. */
export type KnownCredential = { keyId: string | null; session: SessionRow | null };

/**
 * What a credential's partition knows of it: the key-value store's copy of a session may outlive it. Throws 401 or 403
 * for one that is not good now.
 */
export async function readCredential(
  { environment }: Gateway,
  { partition, payer }: VerifiedCredential,
  at: number,
): Promise<KnownCredential> {
  const found = await environment.ledger.read(partition, { type: "credential", at, payer });
  if ("fault" in found) throw credentialError(payer, found.fault);
  const { session } = found;
  // An older version kept agents' sessions among those of wallets, where they would have a capacity of their own.
  if (session !== null && spenderPartition(spenderOf(session)) !== partition) throw credentialError(payer, "unknown");
  return found;
}

/** Asks the chain both questions at once, so that a request waits for it two seconds at most. */
async function readyKey(
  { agentOwners, keyRecords }: Gateway,
  spender: Spender,
  { at, client }: Asker,
): Promise<string> {
  const { address, agentToken } = spender;
  const [key] = await Promise.all([
    keyRecords.keyFor(spender, at, client),
    agentToken === null ? undefined : agentOwners.requireLately(agentToken, address, client),
  ]);
  return key;
}
