import { GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { HeldBody } from "../http/held-bodies.ts";
import type { VerifiedCredential } from "../identity/credentials.ts";
import { nothingDelivered } from "../metering/quote.ts";
import { nothingReported } from "../metering/usage.ts";
import { readBytes } from "../upstream/provider.ts";
import { providerError } from "../upstream/provider-error.ts";
import { admitInTurn } from "./admit-in-turn.ts";
import { answerStream } from "./answer-stream.ts";
import { answerWhole, UnusableAnswer } from "./answer-whole.ts";
import { askProvider } from "./ask-provider.ts";
import type { Ending } from "./conclusion.ts";
import { durableOrLate, type Exchange, endExchange, startDeadline } from "./exchange.ts";
import { answerClaimed, claimOf, earlierAnswer } from "./idempotency.ts";
import type { InferenceRoute } from "./routes.ts";

/** An authenticated request whose body was read and parsed as JSON, and not looked at yet. */
export type InferenceRequest = {
  id: string;
  at: number;
  route: InferenceRoute;
  credential: VerifiedCredential;
  /** Who it comes from, as far as an address tells. */
  client: string | undefined;
  /** Null once it was read into an order, for it may be large. */
  body: unknown;
  /** What it takes of the memory for all of them. */
  held: HeldBody;
  /** The client's name for the request, under which it is served once. */
  idempotencyKey: string | null;
  /** Aborted when the client goes. */
  clientGone: AbortSignal | null;
  /** For the answer, beside its own. */
  headers: Readonly<Record<string, string>>;
};

/**
 * The request path: price the maximum, reserve it, forward, meter, settle. Throws `GatewayError` for whatever is
 * refused; nothing is charged then.
 */
export async function serveInference(gateway: Gateway, request: InferenceRequest): Promise<Response> {
  const claim = claimOf(request);
  const earlier = claim === null ? null : await earlierAnswer(gateway, request, claim);
  if (earlier !== null) return earlier;
  const order = request.route.parse(request.body, {
    snapshot: gateway.prices.current(),
    aliases: gateway.config.upstream.aliases,
    user: gateway.credentials.pseudonym(request.credential.partition),
    chatExtras: gateway.config.upstream.chatExtras,
    chatOutputField: gateway.config.upstream.chatOutputField,
  });
  request.body = null;
  if (request.held.bytes > limits.unprovenBodyBytes) {
    gateway.heldBodies.keep(request.held, bytesInMemory(order.upstreamBody));
  }
  gateway.breaker.check(order.model.id, request.credential.partition, gateway.environment.clock.now());
  const admitted = await admitInTurn(gateway, request, order, claim);
  if ("claimed" in admitted) return answerClaimed(gateway, admitted.claimed);
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
    const failure = failureError(error, exchange);
    const ending = failureEnding(error, exchange, request);
    exchange.abort.abort();
    // Whatever happened, the hold ends.
    await durableOrLate(gateway, endExchange(gateway, exchange, ending).durable);
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
    const message = "The provider's answer is compressed, which it was not to be. Nothing was charged.";
    throw new GatewayError({ code: "upstream_error", message });
  }
  const body = await errorText(gateway, exchange, response);
  const refusal = providerError(response.status, body, [gateway.config.upstream.apiKey, upstreamKey]);
  if (refusal.alert !== null) log("alert", "provider", { request: exchange.id, alert: refusal.alert });
  // A key of an identity's own can be replaced; the master key is the operator's.
  const isOwn = spender !== null && upstreamKey !== gateway.config.upstream.apiKey;
  if (isOwn && response.status === 401) gateway.environment.background(gateway.keyRecords.doubt(spender));
  if (refusal.modelGone) gateway.environment.background(gateway.prices.modelGone());
  throw new GatewayError(refusal.detail);
}

/** A string takes two bytes a letter as soon as one of them is not of Latin-1. */
function bytesInMemory(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
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

/**
 * An answer that nobody saw costs nothing. One whose client left before it came may be billed by the provider all the
 * same: that is what the hold is for.
 */
function failureEnding(error: unknown, { order, abort }: Exchange, { route, clientGone }: InferenceRequest): Ending {
  const stream = order.stream || route.passesThrough;
  const mayBeBilled =
    error instanceof UpstreamFailure &&
    ((error.stage === "body" && !stream) || (error.stage === "sent" && abort.signal.aborted));
  const reported = error instanceof UnusableAnswer ? error.reported : nothingReported;
  return mayBeBilled && clientGone?.aborted === true
    ? { kind: "answer", ...nothingReported, delivered: nothingDelivered, complete: false, stream, clientGone: true }
    : { kind: "nothing", why: String(error), ...reported };
}

/** What went wrong between us and the provider, as the client is told it. */
function failureError(error: unknown, exchange: Exchange): unknown {
  if (!(error instanceof UpstreamFailure)) return error;
  if (exchange.abort.signal.aborted) {
    return new GatewayError({ code: "upstream_timeout", message: "The provider took too long. Nothing was charged." });
  }
  if (error.stage === "not_sent") {
    const message = "The provider cannot be reached at the moment: try again in a few seconds. Nothing was charged.";
    return new GatewayError({ code: "upstream_unavailable", message, retryAfterS: 2 });
  }
  return new GatewayError({ code: "upstream_error", message: "The provider's answer broke off. Nothing was charged." });
}
