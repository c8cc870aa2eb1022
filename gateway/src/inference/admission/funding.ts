import { fail } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { VerifiedCredential } from "../../auth/credentials.ts";
import { credentialError, readCredential } from "../../auth/known-credential.ts";
import { type Spender, spenderOf } from "../../auth/spender.ts";
import type { Gateway } from "../../gateway.ts";
import type { InferenceRequest } from "../request.ts";
import { type Order, usedTerms } from "../requests/order.ts";
import { type KeyNeeds, type Refused, refusedByKey, refusedError, shortOf } from "./refusal.ts";

/** The payer of a request, and its key at the provider. */
export type Funding = {
  /** The spender whose capacity pays; null if an account's balance pays. */
  spender: Spender | null;
  /** The key at the provider that the request is sent with. */
  upstreamKey: string;
};

/** When a request arrived, and the network of its client. */
type Asker = { at: number; client: string | undefined };

/** An API key spends its account's balance, and the chain is not asked. For a session see `readSessionFunding`. */
export function fundingOf(gateway: Gateway, request: InferenceRequest): Funding | Promise<Funding> {
  const { credential } = request;
  if (credential.payer.kind === "session") return readSessionFunding(gateway, credential, request);
  return { spender: null, upstreamKey: gateway.config.upstream.apiKey };
}

/**
 * Throws the refusal of a request if its payer could not pay it even if all requests in flight cost nothing, or if its
 * key's terms do not allow it.
 *
 * @param funds.moreNanoUsd Is about to be added to the balance.
 */
export async function requireFunds(
  gateway: Gateway,
  { credential, at }: InferenceRequest,
  order: Order,
  { spender, moreNanoUsd = 0 }: { spender: Spender | null; moreNanoUsd?: NanoUsd },
): Promise<void> {
  const needs = { at, neededNanoUsd: order.hold.maxNanoUsd, ...usedTerms(order) };
  const refused = await exhausted(gateway, credential, needs, moreNanoUsd);
  // This cause does not pass within seconds, so the retries need no jitter.
  if (refused !== null) throw refusedError(refused, order, { at, jitter: 0, spender });
}

/**
 * The funding of a session. Its capacity is read from the chain, and becomes the limit of its identity's budget. Throws
 * 401 for a session that is not valid now, and as `KeyRecords.keyFor` if the capacity cannot be known.
 */
async function readSessionFunding(
  gateway: Gateway,
  credential: VerifiedCredential,
  { at, client }: Asker,
): Promise<Funding> {
  const { session } = await readCredential(gateway.environment.ledger, credential, at);
  if (session === null) throw credentialError(credential.payer, "unknown");
  const spender = spenderOf(session);
  const { address, agentToken } = spender;
  // Both at once, so that a request waits for the chain for two seconds at most.
  const [upstreamKey] = await Promise.all([
    gateway.keyRecords.keyFor(spender, at, client),
    agentToken === null ? undefined : gateway.agentOwners.requireLately(agentToken, address, client),
  ]);
  return { spender, upstreamKey };
}

/**
 * The first budget or limit that has too little unsettled for this cost and these tokens, as a refusal; null if there
 * is none. Requests in flight do not count, and nothing is held: the reserve decides. Throws 401 for a credential that
 * is not valid now.
 *
 * @param moreNanoUsd On its way to the balance.
 */
async function exhausted(
  gateway: Gateway,
  credential: VerifiedCredential,
  needs: KeyNeeds,
  moreNanoUsd: NanoUsd = 0,
): Promise<Refused | null> {
  const { ledger } = gateway.environment;
  const { partition } = credential;
  const { at, neededNanoUsd } = needs;
  const { keyId } = await readCredential(ledger, credential, at);
  if (keyId === null) return shortOf("capacity", await ledger.read(partition, { type: "capacity", at }), neededNanoUsd);
  const [balance, key] = await Promise.all([
    ledger.read(partition, { type: "balance", at }),
    ledger.read(partition, { type: "key", at, keyId }),
  ]);
  const refused = shortOf("balance", balance, neededNanoUsd, moreNanoUsd);
  if (refused !== null || key === null) return refused;
  return refusedByKey(key, needs);
}

/** For a time when not all can be served: throws 503 `overloaded` for a payer that has nothing to spend. */
export async function requirePayer(
  gateway: Gateway,
  credential: VerifiedCredential,
  { at, client }: Asker,
): Promise<void> {
  if (credential.payer.kind === "session") await readSessionFunding(gateway, credential, { at, client });
  if ((await exhausted(gateway, credential, { at, neededNanoUsd: 1, tokens: 0 })) === null) return;
  const message = "The gateway is overloaded. Retry in 5 s.";
  fail("overloaded", message, { retryAfterS: 5 });
}
