import type { Claimed } from "@inference/ledger/claim";
import { LedgerUnavailable } from "@inference/ledger/client";
import type { CredentialFault } from "@inference/ledger/commands";
import type { SessionRow } from "@inference/ledger/tables";
import { lowerAddress } from "@inference/protocol/credential";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { VerifiedCredential } from "../identity/credentials.ts";
import type { Spender } from "../upstream/key-records.ts";
import { type Exchange, holdDetail } from "./exchange.ts";
import { claimOf } from "./idempotency.ts";
import type { InferenceRequest } from "./inference.ts";
import type { Order } from "./order.ts";
import { credentialError, refusalError } from "./refusal.ts";
import { reserveRequest } from "./saga.ts";

/**
 * Takes the hold of a request, in every budget that binds who pays for it. An API key spends its account's balance and
 * never waits for a chain. A session spends its identity's capacity, which the chain decides. Throws `GatewayError` for
 * whatever is refused. Takes none where another request has the same `Idempotency-Key`.
 */
export async function admit(
  gateway: Gateway,
  request: InferenceRequest,
  order: Order,
): Promise<Exchange | { claimed: Claimed }> {
  const { ledger, random } = gateway.environment;
  const { id, at, credential, route } = request;
  const { partition: owner, payer } = credential;
  const spender = payer.kind === "session" ? await readSpender(gateway, credential, at) : null;
  const upstreamKey = spender === null ? gateway.config.upstream.apiKey : await readyKey(gateway, spender, at);
  const claim = claimOf(request);
  const reservation = {
    id,
    at,
    owner,
    payer,
    amountNanoUsd: order.quote.maxNanoUsd,
    leaseMs: limits.leaseMs,
    detail: holdDetail(route.name, order),
    ...(claim === null ? {} : { claim }),
  };
  const admission = await ledger.run(() => reserveRequest(reservation));
  switch (admission.status) {
    case "reserved":
      break;
    case "refused":
      throw refusalError(admission.refusal, order.quote, (random.bytes(1)[0] ?? 0) / 255);
    case "claimed":
      return { claimed: admission };
    case "unauthenticated":
      throw credentialError(payer, admission.fault);
    case "clock_skew":
      throw new LedgerUnavailable("the ledger's clock is not ours");
    case "conflict":
      throw new Error(`request id ${id} came twice`);
  }
  gateway.live.add(id);
  return {
    id,
    at,
    owner,
    keyId: admission.keyId,
    spender,
    upstreamKey,
    route: route.name,
    order,
    abort: new AbortController(),
    upstreamId: null,
    ended: false,
  };
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
