import type { Claim } from "@inference/ledger/commands";
import { GatewayError } from "@inference/protocol/errors";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { complete } from "../limits/sliced-work.ts";
import { readBytes } from "../upstream/provider.ts";
import { providerError } from "../upstream/provider-error.ts";
import { answerStream } from "./answer-stream.ts";
import { answerWhole } from "./answer-whole.ts";
import { Call } from "./call.ts";
import { answerKind } from "./conclusion.ts";
import { failureEnding, failureError, UnusableAnswer } from "./failure.ts";
import { answerClaimed, claimOf, earlierAnswer } from "./idempotency.ts";
import type { InferenceRequest } from "./request.ts";
import type { WrittenOrder } from "./requests/order.ts";
import { bytesOf } from "./requests/write-json.ts";

/**
 * The request path: price the maximum, reserve it, forward, meter, settle. Throws `GatewayError` for whatever is
 * refused; nothing is charged then.
 */
export async function serveInference(gateway: Gateway, request: InferenceRequest): Promise<Response> {
  const call = await admit(gateway, request);
  return call instanceof Call ? answer(gateway, request, call) : call;
}

/** Answers instead where another request has the same `Idempotency-Key`. */
async function admit(gateway: Gateway, request: InferenceRequest): Promise<Call | Response> {
  const read = await readOrder(gateway, request);
  if (!("order" in read)) return read;
  const call = await Call.admit(gateway, request, read.order, read.claim);
  if ("claimed" in call) return answerClaimed(gateway, request, call.claimed);
  gateway.metrics.admitted(gateway.environment.clock.now() - request.at);
  return call;
}

/** The order, which is all that is left of the body; or the answer that this request had before. */
async function readOrder(
  gateway: Gateway,
  request: InferenceRequest,
): Promise<{ order: WrittenOrder; claim: Claim | null } | Response> {
  const { config, credentials, prices, slicedWork } = gateway;
  const { partition } = request.credential;
  const body = await request.readBody();
  const claim = await claimOf(gateway, request, body);
  const earlier = claim === null ? null : await earlierAnswer(gateway, request, claim);
  if (earlier !== null) return earlier;
  const work = request.route.parse(body.value, {
    texts: body.texts,
    snapshot: prices.current(),
    aliases: config.upstream.aliases,
    user: credentials.pseudonym(partition),
    chatExtras: config.upstream.chatExtras,
    chatOutputField: config.upstream.chatOutputField,
  });
  // A small body at once, a large one in pieces among those of others.
  if (body.texts === null) return { order: complete(work), claim };
  const order = await slicedWork.run(partition, work);
  request.held.keep(bytesOf(order.upstreamBody));
  return { order, claim };
}

async function answer(gateway: Gateway, request: InferenceRequest, call: Call): Promise<Response> {
  try {
    const response = await forward(gateway, call);
    return answerKind(call.route, call.order) === "stream"
      ? await answerStream(gateway, call, request, response)
      : await answerWhole(gateway, call, request, response);
  } catch (error) {
    call.close();
    const ended = call.end(failureEnding(error, call, request));
    const failure = failureError(error, call, ended.conclusion);
    call.abort();
    // Whatever happened, the hold ends.
    await ended.whenDurable();
    throw failure;
  }
}

async function forward(gateway: Gateway, call: Call): Promise<UpstreamResponse> {
  const { log } = gateway.environment;
  const { spender, upstreamKey } = call;
  const response = await call.send();
  if (response.status === 200) {
    const encoding = response.header("content-encoding");
    if (encoding === null || encoding.toLowerCase() === "identity") return response;
    throw new UnusableAnswer("is compressed, which it was not to be");
  }
  // The provider does not say that it failed, and may bill it.
  if (response.status > 200 && response.status < 300) throw new UnusableAnswer(`has the status ${response.status}`);
  const body = await errorText(gateway, call, response);
  const refusal = providerError(response.status, body, gateway.secrets(upstreamKey));
  if (refusal.alert !== null) log("alert", "provider", { request: call.id, alert: refusal.alert });
  // A key of an identity's own can be replaced; the master key is the operator's.
  const isOwn = spender !== null && upstreamKey !== gateway.config.upstream.apiKey;
  if (isOwn && response.status === 401) gateway.environment.background(gateway.keyRecords.invalidate(spender));
  if (refusal.modelGone) gateway.environment.background(gateway.prices.modelGone());
  throw new GatewayError(refusal.detail);
}

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_READ_MS = 5_000;

/** The status alone says what to answer; a body that breaks off or does not end adds nothing. */
async function errorText({ environment }: Gateway, call: Call, { body }: UpstreamResponse): Promise<string> {
  const timer = environment.timers.after(ERROR_READ_MS, () => call.abort());
  try {
    return new TextDecoder().decode(await readBytes(body, MAX_ERROR_BYTES));
  } catch {
    return "";
  } finally {
    timer.cancel();
  }
}
