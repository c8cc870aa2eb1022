import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import { pause } from "@inference/protocol/timers";
import { limits } from "../config.ts";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { HeldAnswer } from "../limits/held-answers.ts";
import { isNothingDelivered } from "../pricing/quote.ts";
import type { ReportedUsage } from "../pricing/usage.ts";
import { makeAnswerWriter } from "./answer-format.ts";
import { answerHeaders, binaryType, mediaType } from "./answer-headers.ts";
import { respond, startIdCheckpoint, startWatch } from "./answer-watch.ts";
import type { Call } from "./call.ts";
import { checkModel } from "./check-model.ts";
import { receiptHint, UnusableAnswer } from "./failure.ts";
import type { InferenceRequest } from "./request.ts";
import type { ClientStream } from "./stream/client-stream.ts";
import { eventTap } from "./stream/event-tap.ts";
import { audioTap, type Tap } from "./stream/tap.ts";

/**
 * Sends an answer to the client as it comes. A first checkpoint, with the provider's id of the answer, is durable
 * before anything but comments is sent. The provider's bytes run through a tap into the client stream, and the tap
 * alone decides what is charged. The answer is read to its end even if the client has left, because the usage is at the
 * end.
 */
export async function answerStream(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  response: UpstreamResponse,
): Promise<Response> {
  const type = mediaType(response.header("content-type"));
  const contentType = call.order.stream ? type : binaryType(type);
  const isExpected = call.order.stream ? type === "text/event-stream" : type.startsWith("audio/");
  if (!isExpected || contentType === null) throw new UnusableAnswer("has an unexpected content type");
  const tap = call.order.stream
    ? eventTap(call.order, gateway.secrets(call.upstreamKey), makeAnswerWriter(gateway, call, request))
    : audioTap();
  call.startStreaming();
  const held = gateway.heldAnswers.open(request.credential.partition);
  // What a writer has in memory until the end counts beside what waits for the client.
  const written = gateway.heldAnswers.open(request.credential.partition);
  const headers = { ...answerHeaders(request, call.order, contentType), "x-accel-buffering": "no" };
  const keepAlive = call.order.stream ? tap.keepAlive : null;
  return respond(gateway, request, { headers, held, keepAlive }, (client) =>
    relay(gateway, call, response, { tap, client, written }).finally(() => {
      written.release();
      call.close();
    }),
  );
}

/** Passes the answer on to the client, and ends the call. Never throws. */
async function relay(
  gateway: Gateway,
  call: Call,
  response: UpstreamResponse,
  { tap, client, written }: { tap: Tap; client: ClientStream; written: HeldAnswer },
): Promise<void> {
  const watch = startWatch(gateway, call, tap, client);
  const idCheckpoint = startIdCheckpoint(gateway, call, tap, client);
  let isFirst = true;
  /** What a whole answer was settled with. */
  let settled: ReportedUsage | undefined;
  try {
    for await (const chunk of response.body) {
      watch.sawBytes();
      const passed = tap.push(chunk);
      const held = tap.held();
      if (held > 0) written.set(held);
      if (idCheckpoint.isDue() && !(await idCheckpoint.write())) return;
      const state = tap.state();
      // The settle begins before the client can know that the answer is whole. After an error event the usage may
      // still come, so the stream is read on for a few seconds.
      if (state === "done" && settled === undefined) {
        settled = tap.reported();
        end(call, tap, client, true);
      }
      if (passed !== undefined) {
        const room = client.write(passed, tap.delivered());
        if (room !== undefined) await room;
        // The first bytes leave before the rest of what came during the checkpoint is read.
        if (isFirst) await pause(gateway.environment.timers, 0);
        isFirst = false;
      }
      if (state !== "open") client.close();
      watch.checkpointIfDue();
      if (isRunaway(call, tap)) throw call.giveUp("The answer was far longer than requested");
    }
    const rest = tap.end(cutError(call));
    if (idCheckpoint.isDue() && !(await idCheckpoint.write())) return;
    end(call, tap, client, tap.state() === "done");
    if (rest !== undefined) await client.write(rest, tap.delivered());
    client.close();
  } catch {
    const rest = tap.end(cutError(call));
    if (idCheckpoint.isDue() && !(await idCheckpoint.write())) return;
    end(call, tap, client, false);
    if (rest !== undefined) await client.write(rest, tap.delivered());
    // A stream of events ends with an error event. Other bytes can only be cut off.
    if (call.order.stream) client.close();
    else client.fail();
  } finally {
    watch.stop();
    checkModel(gateway, call, tap.model());
    tellLate(gateway, call, settled, tap.reported());
  }
}

/** Call it before the tap's last bytes are written. They count as delivered if the client is still there. */
function end(call: Call, tap: Tap, client: ClientStream, complete: boolean): void {
  const reported = tap.reported();
  // A flat price is owed even if the client left.
  const isByDelivery = call.order.quote.flatNanoUsd === null;
  const read = tap.delivered();
  const delivered = client.hasLeft() && isByDelivery ? client.delivered() : read;
  // An answer that had failed before was not cut by us. The provider may bill one that we cut, even if it was empty.
  const isCutByUs = call.isAborted && tap.state() === "open";
  const isUnreadable = tap.state() === "failed" && !tap.saysError();
  const isEmpty = isNothingDelivered(read) && tap.state() !== "done" && !isCutByUs;
  const mayBill = tap.saysError() ? null : isUnreadable ? "whole" : "stream";
  const rest = { delivered, read, complete, clientGone: client.hasLeft(), givenUp: isCutByUs || isUnreadable };
  call.end(
    isEmpty
      ? { kind: "nothing", why: "no content came", ...reported, mayBill }
      : { kind: "answer", ...reported, ...rest, as: "stream" },
  );
}

/** A usage that came after the answer was settled is in no receipt. */
function tellLate(
  { environment }: Gateway,
  call: Call,
  settled: ReportedUsage | undefined,
  { beyond }: ReportedUsage,
): void {
  if (settled === undefined || settled.beyond !== undefined || beyond === undefined) return;
  const alert = "the provider reported a usage after the end of the answer";
  environment.log("alert", "usage", { request: call.id, alert });
}

function cutError(call: Call): ErrorBody {
  if (!call.isAborted) return errorBody({ code: "upstream_error", message: "The provider's answer broke off." });
  const why = call.whyGivenUp ?? "The answer took too long";
  const message = `${why}. The request was aborted. For its charge, ${receiptHint(call.id)}.`;
  return errorBody({ code: "upstream_timeout", message });
}

/** Whether far more has come than was requested. The customer owes at most the hold, and the rest would be our loss. */
function isRunaway(call: Call, tap: Tap): boolean {
  const { bound } = call.order.quote;
  return bound !== undefined && tap.delivered().events > 2 * bound.completionTokens + limits.checkpointTokens;
}
