import { type ErrorBody, errorBody, GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { type Delivered, nothingDelivered } from "../metering/quote.ts";
import { nothingReported } from "../metering/usage.ts";
import { answerHeaders } from "./answer-headers.ts";
import { eventTap } from "./event-tap.ts";
import { checkpointExchange, type Exchange, endExchange, keptId } from "./exchange.ts";
import type { InferenceRequest } from "./inference.ts";
import { type Outlet, openOutlet } from "./outlet.ts";
import { audioTap, type Tap } from "./tap.ts";

/**
 * An answer that goes to the client as it comes. A first checkpoint, with the provider's id of the answer, is durable
 * before anything of the answer leaves: only comments pass before. The provider's bytes run through a tap into the
 * client's outlet, and the tap alone decides what is charged. It is read to its end also when nobody reads along any
 * more: what the provider bills is known only there.
 */
export async function answerStream(
  gateway: Gateway,
  exchange: Exchange,
  request: InferenceRequest,
  response: UpstreamResponse,
  deadline: { cancel(): void },
): Promise<Response> {
  const contentType = response.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const isExpected = exchange.order.stream ? contentType === "text/event-stream" : /^audio\//.test(contentType);
  if (!isExpected) {
    const message = "The provider's answer has an unexpected content type. Nothing was charged.";
    throw new GatewayError({ code: "upstream_error", message });
  }
  const tap = exchange.order.stream ? eventTap(exchange.order) : audioTap();
  exchange.streams = true;
  const { stalledReaderMs } = gateway.config.request;
  const outlet = openOutlet(gateway.environment, { keepsAlive: exchange.order.stream, stalledReaderMs });
  gateway.environment.background(relay(gateway, exchange, response, tap, outlet).finally(() => deadline.cancel()));
  const gone = request.clientGone;
  if (gone?.aborted === true) outlet.leave();
  else gone?.addEventListener("abort", () => outlet.leave(), { once: true });
  const headers = answerHeaders(request, exchange.order, response.header("content-type") ?? contentType);
  return new Response(outlet.readable, { status: 200, headers: { ...headers, "x-accel-buffering": "no" } });
}

/** From the provider to the client and to the ledger. Never throws. */
async function relay(
  gateway: Gateway,
  exchange: Exchange,
  response: UpstreamResponse,
  tap: Tap,
  outlet: Outlet,
): Promise<void> {
  const watch = startWatch(gateway, exchange, tap, outlet);
  const proof = startProof(gateway, exchange, tap, outlet);
  try {
    for await (const chunk of response.body) {
      watch.sawBytes();
      const passed = tap.push(chunk);
      if (proof.isDue() && !(await proof.write())) return;
      const state = tap.state();
      // The charge is on its way into the ledger before the client can know that the answer is whole.
      // After an error event the usage may still come: the stream is read to its end, for a few seconds at most.
      if (state === "done") end(gateway, exchange, tap, outlet, true);
      if (passed !== undefined) {
        const room = outlet.write(passed, tap.delivered());
        if (room !== undefined) await room;
      }
      if (state !== "open") outlet.close();
      watch.checkpointIfDue();
      if (isRunaway(exchange, tap)) throw giveUp(exchange, "The answer was far longer than what was asked for");
    }
    const rest = tap.end(cutError(exchange));
    if (proof.isDue() && !(await proof.write())) return;
    end(gateway, exchange, tap, outlet, tap.state() === "done");
    if (rest !== undefined) await outlet.write(rest, tap.delivered());
    outlet.close();
  } catch {
    const rest = tap.end(cutError(exchange));
    if (proof.isDue() && !(await proof.write())) return;
    end(gateway, exchange, tap, outlet, false);
    if (rest !== undefined) await outlet.write(rest, tap.delivered());
    // A stream of events ends in an error event; other bytes can only be cut off.
    if (exchange.order.stream) outlet.close();
    else outlet.fail();
  } finally {
    watch.stop();
  }
}

type Proof = {
  /** What came last must not leave before `write`. */
  isDue(): boolean;
  /** False: it could not be written down, and the answer has ended. */
  write(): Promise<boolean>;
};

/**
 * A checkpoint before anything is delivered, and as soon as the provider names the answer: should this process die, its
 * record of the answer is found by that name. Nothing leaves, and nothing is charged, unless it is durable.
 */
function startProof(gateway: Gateway, exchange: Exchange, tap: Tap, outlet: Outlet): Proof {
  /** The name as it was written down; undefined before that. */
  let written: string | null | undefined;
  return {
    isDue() {
      exchange.upstreamId ??= keptId(gateway, exchange, tap.upstreamId());
      if (written !== undefined) return exchange.upstreamId !== written;
      return exchange.upstreamId !== null || !isNone(tap.delivered());
    },
    async write() {
      const isFirst = written === undefined;
      written = exchange.upstreamId;
      try {
        await checkpointExchange(gateway, exchange, outlet.delivered());
        return true;
      } catch (error) {
        gateway.environment.log("warn", "checkpoint_failed", { request: exchange.id, error: String(error) });
        // What is delivered already is proved, if not by this name.
        if (isFirst) await refuseToBegin(gateway, exchange, outlet);
        return !isFirst;
      }
    },
  };
}

async function refuseToBegin(gateway: Gateway, exchange: Exchange, outlet: Outlet): Promise<void> {
  const why = "its first checkpoint could not be written down";
  endExchange(gateway, exchange, { kind: "nothing", why, ...nothingReported });
  exchange.abort.abort();
  if (exchange.order.stream) {
    const message = "The ledger is not available at the moment: try again in a moment. Nothing was charged.";
    const body = errorBody({ code: "ledger_unavailable", message });
    await outlet.write(new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`), nothingDelivered);
    outlet.close();
  } else outlet.fail();
}

/** Call it before the tap's last bytes are written: they are counted as delivered to a client that is still there. */
function end(gateway: Gateway, exchange: Exchange, tap: Tap, outlet: Outlet, complete: boolean): void {
  const reported = tap.reported();
  const delivered = outlet.hasLeft() ? outlet.delivered() : tap.delivered();
  // Who left while the provider was at work may be billed for what it had done by then; its own failure is its own.
  const isLeft = outlet.hasLeft() && exchange.abort.signal.aborted && tap.state() === "open";
  const isNothing = isNone(tap.delivered()) && tap.state() !== "done" && !isLeft;
  endExchange(
    gateway,
    exchange,
    isNothing
      ? { kind: "nothing", why: "no content came", ...reported }
      : { kind: "answer", ...reported, delivered, complete, stream: true, clientGone: outlet.hasLeft() },
  );
}

function isNone(delivered: Delivered): boolean {
  return delivered.bytes === 0 && delivered.events === 0;
}

/** Why we stopped reading an answer, as its client is told. */
class GivenUp extends Error {
  override name = "GivenUp";
}

function giveUp(exchange: Exchange, why: string): GivenUp {
  const reason = new GivenUp(why);
  exchange.abort.abort(reason);
  return reason;
}

function cutError({ abort: { signal } }: Exchange): ErrorBody {
  if (!signal.aborted) return errorBody({ code: "upstream_error", message: "The provider's answer broke off." });
  const why = signal.reason instanceof GivenUp ? signal.reason.message : "The answer took too long";
  return errorBody({ code: "upstream_timeout", message: `${why}, and was given up.` });
}

/** Far more came than was asked for: the customer owes the hold at most, and we would owe the rest. */
function isRunaway(exchange: Exchange, tap: Tap): boolean {
  const { bound } = exchange.order.quote;
  return bound !== undefined && tap.delivered().events > 2 * bound.completionTokens + limits.checkpointTokens;
}

type Watch = { sawBytes(): void; checkpointIfDue(): void; stop(): void };

/** Looks after a stream every few seconds: checkpoints, keeps an idle one alive, gives up one that stands still. */
function startWatch(gateway: Gateway, exchange: Exchange, tap: Tap, outlet: Outlet): Watch {
  const { clock, timers, log } = gateway.environment;
  let lastBytesAt = clock.now();
  let checkpointed = 0;
  let drain: { cancel(): void } | undefined;
  let timer = timers.after(limits.checkpointMs, tick);
  outlet.onLeave(() => {
    drain = timers.after(gateway.config.drainMs, () => exchange.abort.abort());
  });

  function tick(): void {
    timer = timers.after(limits.checkpointMs, tick);
    const now = clock.now();
    // Over for the client, and the provider still sends: nothing of it is wanted any more.
    const isOver = exchange.ended || tap.state() !== "open";
    if (isOver) giveUp(exchange, "The answer was over");
    else if (now - lastBytesAt >= gateway.config.request.streamIdleMs) giveUp(exchange, "The answer stood still");
    outlet.keepAlive(now);
    checkpoint();
  }

  function checkpoint(): void {
    const delivered = outlet.delivered();
    if (delivered.events === checkpointed) return;
    checkpointed = delivered.events;
    checkpointExchange(gateway, exchange, delivered).catch((error: unknown) =>
      log("warn", "checkpoint_failed", { request: exchange.id, error: String(error) }),
    );
  }

  return {
    sawBytes() {
      lastBytesAt = clock.now();
    },
    checkpointIfDue() {
      if (outlet.delivered().events - checkpointed >= limits.checkpointTokens) checkpoint();
    },
    stop() {
      timer.cancel();
      drain?.cancel();
    },
  };
}
