import { LedgerUnavailable } from "@inference/ledger/client";
import type { Gateway } from "../gateway.ts";
import type { HeldAnswer } from "../limits/held-answers.ts";
import { isNothingDelivered } from "../pricing/quote.ts";
import { respond, startIdCheckpoint, startWatch } from "./answer-watch.ts";
import type { Call, Ended } from "./call.ts";
import { checkModel } from "./check-model.ts";
import type { InferenceRequest } from "./request.ts";
import { type ClientStream, writeInPieces } from "./stream/client-stream.ts";
import type { WholeTap } from "./stream/whole-tap.ts";
import { chargedFor } from "./stream/writing-relay.ts";

/** A whole answer that is too large to be gathered. Nothing of it was sent yet. */
type LargeAnswer = {
  tap: WholeTap;
  /** The bytes that may be sent so far. */
  passed: Uint8Array;
  /** The number of bytes that have arrived. */
  received: number;
  /** The rest. */
  body: AsyncIterator<Uint8Array>;
  headers: Record<string, string>;
  held: HeldAnswer;
};

/**
 * Sends a whole answer as it comes, in memory that does not grow with it. A first checkpoint is durable before anything
 * is sent, and the charge is durable before the end is sent. If the answer breaks off, so does the connection. Throws
 * `LedgerUnavailable` if the first checkpoint cannot be written.
 */
export async function answerLarge(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  large: LargeAnswer,
): Promise<Response> {
  call.noteUpstreamId(large.tap.upstreamId());
  try {
    await call.checkpoint(large.tap.delivered());
  } catch (error) {
    gateway.environment.log("warn", "checkpoint_failed", { request: call.id, error: String(error) });
    throw new LedgerUnavailable("the first checkpoint could not be written down");
  }
  call.startStreaming();
  const { headers, held } = large;
  return respond(gateway, request, { headers, held, keepAlive: null }, (client) =>
    relay(gateway, call, large, client).finally(() => call.close()),
  );
}

/** Passes the answer on to the client, and ends the call. Never throws. */
async function relay(gateway: Gateway, call: Call, large: LargeAnswer, client: ClientStream): Promise<void> {
  const { tap, body } = large;
  const watch = startWatch(gateway, call, tap, client);
  const idCheckpoint = startIdCheckpoint(gateway, call, tap, client, call.upstreamId);
  let { received } = large;
  try {
    await writeInPieces(client, large.passed, tap.delivered());
    for await (const chunk of { [Symbol.asyncIterator]: () => body }) {
      watch.sawBytes();
      received += chunk.length;
      const passed = tap.push(chunk);
      if (idCheckpoint.isDue()) await idCheckpoint.write();
      if (passed !== undefined && tap.fault() === null) await client.write(passed, tap.delivered());
      if (tap.state() === "done") await finish(gateway, call, large, client);
      else if (tap.state() === "failed") client.fail();
      watch.checkpointIfDue();
      if (received > gateway.config.request.answerBytes) throw call.giveUp("The answer was too large");
    }
    tap.end();
  } catch {
    // The tap's state says what the answer was.
  } finally {
    watch.stop();
  }
  if (tap.state() === "done") await finish(gateway, call, large, client);
  else {
    end(call, large, client, false);
    client.fail();
  }
}

/** Sends the end of the answer once its charge is durable. */
async function finish(gateway: Gateway, call: Call, large: LargeAnswer, client: ClientStream): Promise<void> {
  if (call.hasEnded) return;
  checkModel(gateway, call, large.tap.model());
  const ended = end(call, large, client, true);
  if (await ended.whenDurable()) {
    const { tap } = large;
    const delivered = tap.delivered();
    const { chargeNanoUsd: costNanoUsd } = ended.conclusion;
    const charged = chargedFor(call.order.quote, { ...tap.reported(), delivered });
    await client.write(tap.last({ ...charged, costNanoUsd }), delivered);
    client.close();
  } else client.fail();
}

function end(call: Call, { tap }: LargeAnswer, client: ClientStream, complete: boolean): Ended {
  const reported = tap.reported();
  if (tap.fault() === "error" && isNothingDelivered(tap.delivered())) {
    return call.end({ kind: "nothing", why: "it was an error", ...reported, mayBill: null });
  }
  const clientGone = client.hasLeft();
  // An answer that had failed before was not cut by us, even if we stopped reading after that.
  const isCutByUs = call.isAborted && tap.state() === "open";
  const givenUp = isCutByUs && !clientGone;
  const rest = { delivered: tap.delivered(), complete, clientGone, givenUp };
  return call.end({ kind: "answer", ...reported, ...rest, as: "whole" });
}
