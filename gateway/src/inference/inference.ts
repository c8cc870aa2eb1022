import { GatewayError } from "@inference/protocol/errors";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { complete } from "../limits/sliced-work.ts";
import { readBytes } from "../upstream/provider.ts";
import { providerError } from "../upstream/provider-error.ts";
import { admitInTurn } from "./admit-in-turn.ts";
import { answerStream } from "./answer-stream.ts";
import { answerWhole } from "./answer-whole.ts";
import { askProvider } from "./ask-provider.ts";
import { durableOrLate, type Exchange, endExchange, startDeadline } from "./exchange.ts";
import { failureEnding, failureError } from "./failure.ts";
import { answerClaimed, claimOf, earlierAnswer } from "./idempotency.ts";
import type { InferenceRequest } from "./request.ts";
import { bytesOf } from "./requests/write-json.ts";
import { UnusableAnswer } from "./stream/unusable-answer.ts";

/**
 * The request path: price the maximum, reserve it, forward, meter, settle. Throws `GatewayError` for whatever is
 * refused; nothing is charged then.
 */
export async function serveInference(gateway: Gateway, request: InferenceRequest): Promise<Response> {
  const claim = await claimOf(gateway, request);
  const earlier = claim === null ? null : await earlierAnswer(gateway, request, claim);
  if (earlier !== null) return earlier;
  const { body, credential } = request;
  const order = await inPieces(
    gateway,
    request,
    request.route.parse(body.value, {
      texts: body.texts,
      snapshot: gateway.prices.current(),
      aliases: gateway.config.upstream.aliases,
      user: gateway.credentials.pseudonym(credential.partition),
      chatExtras: gateway.config.upstream.chatExtras,
      chatOutputField: gateway.config.upstream.chatOutputField,
    }),
  );
  request.body = { value: null, texts: null };
  if (body.texts !== null) gateway.heldBodies.keep(request.held, bytesOf(order.upstreamBody));
  gateway.heldAnswers.admit(request.credential.partition);
  gateway.breaker.check(order.model.id, request.credential.partition, gateway.environment.clock.now());
  const admitted = await admitInTurn(gateway, request, order, claim);
  if ("claimed" in admitted) return answerClaimed(gateway, request, admitted.claimed);
  const exchange = admitted;
  gateway.metrics.admitted(gateway.environment.clock.now() - request.at);
  const deadline = startDeadline(gateway, exchange, request.clientGone);
  try {
    const response = await forward(gateway, exchange);
    return order.stream || request.route.passesThrough
      ? await answerStream(gateway, exchange, request, response, deadline)
      : await answerWhole(gateway, exchange, request, response, deadline);
  } catch (error) {
    deadline.cancel();
    const ending = failureEnding(error, exchange, request);
    const { conclusion, durable } = endExchange(gateway, exchange, ending);
    const failure = failureError(error, exchange, conclusion);
    exchange.abort.abort();
    // Whatever happened, the hold ends.
    await durableOrLate(gateway, durable);
    throw failure;
  }
}

async function forward(gateway: Gateway, exchange: Exchange): Promise<UpstreamResponse> {
  const { log } = gateway.environment;
  const { spender, upstreamKey } = exchange;
  const response = await askProvider(gateway, exchange);
  if (response.status === 200) {
    const encoding = response.header("content-encoding");
    if (encoding === null || encoding.toLowerCase() === "identity") return response;
    throw new UnusableAnswer("is compressed, which it was not to be");
  }
  // The provider does not say that it failed, and may bill it.
  if (response.status > 200 && response.status < 300) throw new UnusableAnswer(`has the status ${response.status}`);
  const body = await errorText(gateway, exchange, response);
  const refusal = providerError(response.status, body, gateway.secrets(upstreamKey));
  if (refusal.alert !== null) log("alert", "provider", { request: exchange.id, alert: refusal.alert });
  // A key of an identity's own can be replaced; the master key is the operator's.
  const isOwn = spender !== null && upstreamKey !== gateway.config.upstream.apiKey;
  if (isOwn && response.status === 401) gateway.environment.background(gateway.keyRecords.doubt(spender));
  if (refusal.modelGone) gateway.environment.background(gateway.prices.modelGone());
  throw new GatewayError(refusal.detail);
}

/** Work on a body: at once where it is small, else in pieces among those of others. */
function inPieces<T>(
  { slicedWork }: Gateway,
  { body, credential }: InferenceRequest,
  work: Generator<void, T>,
): T | Promise<T> {
  return body.texts === null ? complete(work) : slicedWork.run(credential.partition, work);
}

const MAX_ERROR_BYTES = 64 * 1024;
const ERROR_READ_MS = 5_000;

/** The status alone says what to answer; a body that breaks off or does not end adds nothing. */
async function errorText({ environment }: Gateway, { abort }: Exchange, { body }: UpstreamResponse): Promise<string> {
  const timer = environment.timers.after(ERROR_READ_MS, () => abort.abort());
  try {
    return new TextDecoder().decode(await readBytes(body, MAX_ERROR_BYTES));
  } catch {
    return "";
  } finally {
    timer.cancel();
  }
}
