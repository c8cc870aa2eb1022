import { LedgerUnavailable } from "@inference/ledger/client";
import type { Gateway } from "../gateway.ts";
import type { HeldAnswer } from "../limits/held-answers.ts";
import { respond, startProof, startWatch } from "./answer-watch.ts";
import { checkModel } from "./check-model.ts";
import type { Conclusion } from "./conclusion.ts";
import { checkpointExchange, durableOrLate, type Exchange, endExchange, keptId } from "./exchange.ts";
import { giveUp } from "./give-up.ts";
import type { InferenceRequest } from "./request.ts";
import { type Outlet, writeInPieces } from "./stream/outlet.ts";
import type { WholeTap } from "./stream/whole-tap.ts";

/** A whole answer that is too large to be gathered, of which nothing was sent. */
export type LargeAnswer = {
  tap: WholeTap;
  /** What may leave of what has come. */
  passed: Uint8Array;
  /** The bytes that have come. */
  received: number;
  /** What comes yet. */
  body: AsyncIterator<Uint8Array>;
  headers: Record<string, string>;
  held: HeldAnswer;
};

/**
 * A whole answer that is sent as it comes, in memory that does not grow with it. A first checkpoint is durable before
 * anything of it leaves, and its end leaves once the charge is durable: a client that has the whole answer has its
 * charge. One that breaks off ends as a broken connection. Throws `LedgerUnavailable` if nothing can be written down.
 */
export async function answerLarge(
  gateway: Gateway,
  exchange: Exchange,
  request: InferenceRequest,
  large: LargeAnswer,
  deadline: { cancel(): void },
): Promise<Response> {
  exchange.upstreamId = keptId(gateway, exchange, large.tap.upstreamId());
  try {
    await checkpointExchange(gateway, exchange, large.tap.delivered());
  } catch (error) {
    gateway.environment.log("warn", "checkpoint_failed", { request: exchange.id, error: String(error) });
    throw new LedgerUnavailable("the first checkpoint could not be written down");
  }
  exchange.streams = true;
  const { headers, held } = large;
  return respond(gateway, request, { headers, held, keepsAlive: false }, (outlet) =>
    relay(gateway, exchange, large, outlet).finally(() => deadline.cancel()),
  );
}

/** From the provider to the client and to the ledger. Never throws. */
async function relay(gateway: Gateway, exchange: Exchange, large: LargeAnswer, outlet: Outlet): Promise<void> {
  const { tap, body } = large;
  const watch = startWatch(gateway, exchange, tap, outlet);
  const proof = startProof(gateway, exchange, tap, outlet, exchange.upstreamId);
  let { received } = large;
  try {
    await writeInPieces(outlet, large.passed, tap.delivered());
    for await (const chunk of { [Symbol.asyncIterator]: () => body }) {
      watch.sawBytes();
      received += chunk.length;
      const passed = tap.push(chunk);
      if (proof.isDue()) await proof.write();
      if (passed !== undefined && tap.fault() === null) await outlet.write(passed, tap.delivered());
      if (tap.state() === "done") await finish(gateway, exchange, large, outlet);
      else if (tap.state() === "failed") outlet.fail();
      watch.checkpointIfDue();
      if (received > gateway.config.request.answerBytes) throw giveUp(exchange, "The answer was too large");
    }
    tap.end();
  } catch {
    // The tap tells what the answer was.
  } finally {
    watch.stop();
  }
  if (tap.state() === "done") await finish(gateway, exchange, large, outlet);
  else {
    end(gateway, exchange, large, outlet, false);
    outlet.fail();
  }
}

/** The end of the answer, once its charge is durable. */
async function finish(gateway: Gateway, exchange: Exchange, large: LargeAnswer, outlet: Outlet): Promise<void> {
  if (exchange.ended) return;
  checkModel(gateway, exchange, large.tap.model());
  const { conclusion, durable } = end(gateway, exchange, large, outlet, true);
  if (await durableOrLate(gateway, durable)) {
    await outlet.write(large.tap.last(conclusion.chargeNanoUsd), large.tap.delivered());
    outlet.close();
  } else outlet.fail();
}

function end(
  gateway: Gateway,
  exchange: Exchange,
  { tap }: LargeAnswer,
  outlet: Outlet,
  complete: boolean,
): { conclusion: Conclusion; durable: Promise<boolean> } {
  const reported = tap.reported();
  const clientGone = outlet.hasLeft();
  // Its own failure is its own, also where we stopped reading what came after it.
  const isCutByUs = exchange.abort.signal.aborted && tap.state() === "open";
  const givenUp = isCutByUs && !clientGone;
  const rest = { delivered: tap.delivered(), complete, clientGone, givenUp };
  return endExchange(gateway, exchange, { kind: "answer", ...reported, ...rest, as: "whole" });
}
