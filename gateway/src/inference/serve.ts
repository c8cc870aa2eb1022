import type { Claim } from "@inference/ledger/commands";
import { GatewayError } from "@inference/protocol/errors";
import { pause, resultWithin } from "@inference/protocol/timers";
import { utcDay } from "@inference/protocol/window";
import { limits } from "../config.ts";
import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { Failure } from "../load/failure-budget.ts";
import { ModelUnavailable } from "../load/model-unavailable.ts";
import { type PaidRequest, requireCovered } from "../top-up/paid-request.ts";
import { readBytes } from "../upstream/provider.ts";
import { type ProviderError, providerError } from "../upstream/provider-error.ts";
import { readRateLimit, readRetryAfter } from "../upstream/rate-limit.ts";
import { requireFunds } from "./admission/funding.ts";
import { answerClaimed, claimOf, earlierAnswer } from "./admission/idempotency.ts";
import { answerStream } from "./answer/answer-relay.ts";
import { answerWhole } from "./answer/answer-whole.ts";
import { failureEnding, failureError, UnusableAnswer } from "./answer/failure.ts";
import { Call } from "./call.ts";
import { answerKind } from "./charge/conclusion.ts";
import type { InferenceRequest } from "./request.ts";
import { nextModel } from "./requests/find-model.ts";
import { makeOrder } from "./requests/make-order.ts";
import { mostTokens, ordersOf, usedTerms, type WrittenOrder } from "./requests/order.ts";
import { readBodyOf, requireParsed } from "./requests/read-body.ts";

/** The request path: price the maximum, reserve it, forward, meter, settle. Throws `GatewayError` if it is refused. */
export async function serveInference(gateway: Gateway, request: InferenceRequest): Promise<Response> {
  const read = await readOrder(gateway, request);
  if (!("order" in read)) return read;
  const admitted = await admit(gateway, request, read);
  const { call } = admitted;
  if ("claimed" in call) return answerClaimed(gateway, request, call.claimed);
  gateway.metrics.admitted(gateway.environment.clock.now() - request.at);
  return answer(gateway, admitted.request, call);
}

type Admitted = { request: InferenceRequest; call: Awaited<ReturnType<typeof Call.admit>> };

/**
 * The admitted call, or the claim of another request with the same `Idempotency-Key`. An order that allows it is tried
 * with its next model, is written again with the output that is affordable, or waits for other requests of its payer.
 * Each try is a request of its own for the ledger.
 */
async function admit(
  gateway: Gateway,
  request: InferenceRequest,
  { order, claim }: { order: WrittenOrder; claim: Claim | null },
): Promise<Admitted> {
  try {
    return { request, call: await Call.admit(gateway, request, order, claim) };
  } catch (error) {
    const next = await nextTry(gateway, request, order, error);
    return admit(gateway, request.renewed(), { order: next, claim });
  }
}

/** The order, made from the body; or the kept answer, if the same request was served before. */
async function readOrder(
  gateway: Gateway,
  request: InferenceRequest,
): Promise<{ order: WrittenOrder; claim: Claim | null } | Response> {
  const { credential, route, held, formType, idempotencyKey, paid } = request;
  const blocks = await request.readBody();
  const job = { blocks, wantsFingerprint: idempotencyKey !== null || paid !== null, formType };
  const read = await readBodyOf(gateway, credential.partition, route, job);
  const claim = claimOf(request, read.fingerprint);
  const earlier = claim === null ? null : await earlierAnswer(gateway, request, claim);
  if (earlier !== null) return earlier;
  const order = makeOrder(requireParsed(read));
  // A request that cannot be served is not paid.
  if (paid !== null && claim !== null) await pay(gateway, request, { order, paid, claim });
  const others = order.fallback === undefined ? [] : ordersOf(order.fallback);
  let bodyBytes = order.upstreamBody.length;
  for (const { upstreamBody } of others) bodyBytes += upstreamBody.length;
  held.keep(bodyBytes);
  return { order, claim };
}

/** Makes the payment of a request that can be served with it. */
async function pay(
  gateway: Gateway,
  request: InferenceRequest,
  { order, paid, claim }: { order: WrittenOrder; paid: PaidRequest; claim: Claim },
): Promise<void> {
  const needs = { neededNanoUsd: order.hold.maxNanoUsd, ...usedTerms(order) };
  if (paid.hasKey) await requireFunds(gateway, request, order, { spender: null, moreNanoUsd: paid.paidNanoUsd });
  else requireCovered(paid, needs.neededNanoUsd);
  await paid.settle({ needs, fingerprint: `0x${claim.fingerprint}`, clientGone: request.clientGone });
}

async function answer(gateway: Gateway, request: InferenceRequest, call: Call): Promise<Response> {
  try {
    const response = await forward(gateway, call);
    refuseCompressed(response);
    return answerKind(call.route, call.order) === "stream"
      ? await answerStream(gateway, call, request, response)
      : await answerWhole(gateway, call, request, response);
  } catch (error) {
    call.close();
    const ended = call.end(failureEnding(error, call, request));
    const failure = failureError(error, call, ended.conclusion);
    call.abort();
    // The hold ends, whatever happened.
    await ended.whenDurable();
    throw withBalance(failure, call);
  }
}

/** The failure, with what is left after the hold's end. */
function withBalance(failure: unknown, { availableNanoUsd: balanceNanoUsd }: Call): unknown {
  if (!(failure instanceof GatewayError) || balanceNanoUsd === undefined) return failure;
  return new GatewayError({ ...failure.detail, balanceNanoUsd });
}

/** The answer of the first model that gives one. Throws the last one's error. */
async function forward(gateway: Gateway, call: Call): Promise<UpstreamResponse> {
  for (;;) {
    try {
      if (call.server !== null) return await forwardToAgent(gateway, call);
      return usable(gateway, call, await sendAndRead(gateway, call));
    } catch (error) {
      await call.fallBack(error);
    }
  }
}

type Read = { response: UpstreamResponse; error: ProviderError | null };

/** Sends the request, and reads what the provider says of an error. */
async function sendAndRead(gateway: Gateway, call: Call): Promise<Read> {
  const response = await call.send();
  const { status } = response;
  if (status >= 200 && status < 300) return { response, error: null };
  const body = await errorText(gateway, response);
  const answer = { status, body, retryAfterMs: readRetryAfter(response) };
  return { response, error: providerError(answer, gateway.secrets(call.upstreamKey)) };
}

/** Reports the answer, and throws the error for any other than 200. */
function usable(gateway: Gateway, call: Call, { response, error }: Read): UpstreamResponse {
  reportAnswer(gateway, call, response, error);
  // No failure by the provider's own word, so it may bill it.
  if (error === null && response.status !== 200) throw new UnusableAnswer(`has the status ${response.status}`);
  if (error === null) return response;
  const { environment, keyRecords, prices, config } = gateway;
  const { spender, upstreamKey } = call;
  if (error.alert !== null) environment.log("alert", "provider", { request: call.id, alert: error.alert });
  // A key that was made for an identity can be replaced. The master key is the operator's.
  const isOwn = spender !== null && upstreamKey !== config.upstream.apiKey;
  if (isOwn && error.cause === "key" && response.status === 401) environment.background(keyRecords.invalidate(spender));
  if (error.modelGone) environment.background(prices.modelGone());
  if (isOfModel(error)) throw new ModelUnavailable(`status ${response.status}`, error.detail);
  throw new GatewayError(error.detail);
}

/** Another model may have no such error. A block of the key is for all models. */
function isOfModel({ blockedMs, cause, detail, modelGone }: ProviderError): boolean {
  return blockedMs === null && (cause === "provider" || modelGone || detail.code === "model_not_found");
}

/**
 * Forwards a request that an agent is to serve. If its key fails before anything was answered, the protocol serves it:
 * the request is forwarded once more. The agent rests if its key is the cause: by the answer, or because the same
 * request succeeds with the protocol's key. A request that fails with every key takes no agent from other customers.
 */
async function forwardToAgent(gateway: Gateway, call: Call): Promise<UpstreamResponse> {
  const { environment, keyRecords, openOffers } = gateway;
  // The provider would count it in the agent's allowance of the next day.
  const isOver = utcDay(call.at) !== utcDay(environment.clock.now());
  if (isOver) await call.reassign();
  const { server } = call;
  if (server === null) return usable(gateway, call, await sendAndRead(gateway, call));
  let why: string;
  let isRefused = false;
  try {
    const answer = await sendAndRead(gateway, call);
    const { status } = answer.response;
    if (answer.error === null || !isKeysFailure(status, answer.error)) return usable(gateway, call, answer);
    why = `status ${status}`;
    isRefused = status === 401 || status === 402;
    if (status === 401) environment.background(keyRecords.invalidate(server.spender));
  } catch (error) {
    const isUnsent = error instanceof UpstreamFailure && error.stage === "not_sent";
    if (!isUnsent || call.isAborted) throw error;
    why = String(error);
  }
  environment.log("warn", "agent_failed", { request: call.id, agent: server.agent, why });
  if (isRefused) openOffers.failed(server);
  await call.reassign();
  const second = usable(gateway, call, await sendAndRead(gateway, call));
  if (!isRefused) openOffers.failed(server);
  return second;
}

/** The provider refuses the key, or is unable to answer: nothing that the body could be the cause of. */
function isKeysFailure(status: number, { cause }: ProviderError): boolean {
  return cause === "key" || (cause === "provider" && (status === 429 || status >= 500));
}

function refuseCompressed(response: UpstreamResponse): void {
  const encoding = response.header("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new UnusableAnswer("is compressed, which it was not to be");
}

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_READ_MS = 5_000;

/** The text of an error, empty if it breaks off or does not end: the status says enough. */
function errorText({ environment }: Gateway, { body }: UpstreamResponse): Promise<string> {
  const text = readBytes(body, MAX_ERROR_BYTES).then((bytes) => new TextDecoder().decode(bytes));
  return resultWithin(environment.timers, ERROR_READ_MS, text).catch(() => "");
}

/**
 * The order to try after a refusal: for the next model, with an output limit that is affordable if the client set none,
 * or the same after a while if only requests in flight are in the way. Throws the refusal if there is nothing to try.
 */
async function nextTry(
  gateway: Gateway,
  { at, clientGone }: InferenceRequest,
  order: WrittenOrder,
  refusal: unknown,
): Promise<WrittenOrder> {
  if (!(refusal instanceof GatewayError)) throw refusal;
  const isWanted = clientGone?.aborted !== true;
  const next = nextModel(order, refusal);
  if (next !== undefined && isWanted) return next;
  const { code, metadata } = refusal.detail;
  const { limitChoice, tried } = order;
  const affordable = Number(metadata?.max_affordable_tokens ?? 0);
  const isLess = affordable < (mostTokens(order).quote.bound?.completionTokens ?? 0);
  if (limitChoice !== undefined && isLess && affordable >= limitChoice.leastTokens) {
    return { ...limitChoice.rewrite(affordable), ...(tried === undefined ? {} : { tried }) };
  }
  const { mostMs, eachMs } = limits.budgetWait;
  const { clock, timers } = gateway.environment;
  const mayWait = order.waitsForBudget === true && waits.has(code) && isWanted;
  if (!mayWait || clock.now() + eachMs > at + mostMs) throw refusal;
  await pause(timers, eachMs, clientGone ?? undefined);
  return order;
}

/** Codex ends its turn with these errors, and does not show them. They pass within seconds. */
const waits: ReadonlySet<string> = new Set(["budget_reserved", "too_many_in_flight"]);

/**
 * Reports the provider's answer to the key check and to the queue. An agent's key tells nothing about the
 * protocol's key.
 *
 * @param error Null if the answer is not an error.
 */
function reportAnswer(
  { keyCheck, environment }: Gateway,
  { server, turn, upstreamKey }: Call,
  response: UpstreamResponse,
  error: ProviderError | null,
): void {
  if (error === null) keyCheck.accepted(upstreamKey);
  else if (error.cause === "key") keyCheck.doubted(upstreamKey);
  const failure = error === null ? null : failureOf(error, keyCheck.isRefused);
  const rate = server === null ? readRateLimit(response, environment.clock.now()) : null;
  const blockedMs = server === null && error !== null ? error.blockedMs : null;
  turn.answered({ failure, rate, blockedMs });
}

/** A refused key refuses the requests of all accounts, so its refusals count for no account. */
function failureOf(error: ProviderError, isKeyRefused: boolean): Failure | null {
  if (error.cause === "key" && isKeyRefused) return null;
  return error.cause === "request" ? "request" : "provider";
}
