import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import { pause } from "@inference/protocol/timers";
import { limits } from "../../config.ts";
import type { UpstreamResponse } from "../../environment.ts";
import type { Gateway } from "../../gateway.ts";
import { balanceHeader } from "../../http/money.ts";
import type { AnswerShare } from "../../load/answer-memory.ts";
import { isNothingDelivered } from "../../pricing/quote.ts";
import type { ReportedUsage } from "../../pricing/usage.ts";
import { scrub } from "../../upstream/error-text.ts";
import type { Call } from "../call.ts";
import type { Ended, Ending } from "../charge/conclusion.ts";
import type { InferenceRequest } from "../request.ts";
import { type ClientStream, countBacklog, openClientStream } from "../stream/client-stream.ts";
import { audioTap, eventTap, type Tap, withReceipt } from "../stream/tap.ts";
import { chargedFor } from "../stream/usage-json.ts";
import { answerHeaders, binaryType, makeAnswerWriter, mediaType } from "./answer-format.ts";
import { startIdCheckpoint, startWatch } from "./answer-watch.ts";
import { receiptHint, UnusableAnswer } from "./failure.ts";

/** An answer whose bytes are sent while they arrive. */
type PassingAnswer = {
  tap: Tap;
  headers: Record<string, string>;
  /** Counts the bytes that wait for the client. */
  held: AnswerShare;
  /** The bytes that the tap has not read. */
  body: AsyncIterable<Uint8Array>;
  begun: {
    /** The bytes that the tap has passed. */
    passed: readonly Uint8Array[];
    receivedBytes: number;
    /** Whether a checkpoint with the provider's id, if that is known, is durable. */
    isCheckpointed: boolean;
  };
};

/**
 * Sends an answer's bytes to the client while they arrive, in constant memory. A first checkpoint, with the
 * provider's id of the answer, is durable before anything but comments is sent. The provider's bytes run through a tap
 * into the client stream, and the tap alone decides what is charged. The answer is read to its end even if the client
 * has left, because the usage is at the end.
 *
 * There are two endings. A stream is settled when it is whole, and its last bytes do not wait for that. The end of a
 * whole answer is sent when its charge is durable, and if that fails, the connection breaks.
 */
export function sendAsItComes(
  gateway: Gateway,
  call: Call,
  { credential, whenSent, openOutlet, clientGone }: InferenceRequest,
  answer: PassingAnswer,
): Response {
  const { config, environment, answerMemory } = gateway;
  call.isStreaming = true;
  const client = openClientStream(environment, {
    openOutlet,
    headers: { ...answer.headers, ...balanceHeader(call.availableNanoUsd) },
    keepAlive: answer.tap.events?.keepAlive ?? null,
    stalledReaderMs: config.request.stalledReaderMs,
    backlog: countBacklog(answer.held, whenSent),
  });
  // The bytes in memory that do not wait for the client yet.
  const kept = answerMemory.open(credential.partition);
  const relayed = relay(gateway, call, answer, { client, kept }).finally(() => {
    kept.release();
    call.close();
  });
  environment.background(relayed);
  if (clientGone?.aborted === true) client.leave();
  else clientGone?.addEventListener("abort", () => client.leave(), { once: true });
  return client.response;
}

/** Passes the answer on to the client, and ends the call. Never throws. */
async function relay(
  gateway: Gateway,
  call: Call,
  { tap, body, begun }: PassingAnswer,
  { client, kept }: { client: ClientStream; kept: AnswerShare },
): Promise<void> {
  const watch = startWatch(gateway, call, tap, client);
  const idCheckpoint = startIdCheckpoint(gateway, call, tap, client, begun.isCheckpointed);
  let { receivedBytes } = begun;
  let isFirst = true;
  let isClosed = false;
  /** The end of an answer that is whole, and the usage that the provider had reported by then. */
  let settled: Settled | undefined;

  function settleIfDone(): void {
    if (tap.state() === "done") settled ??= { ended: end(call, tap, client, true), reported: tap.reported() };
  }

  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    await closeClient(call, tap, client, settled);
  }

  /** @param isBroken Whether the provider's answer broke off, or was given up. */
  async function finish(isBroken: boolean): Promise<void> {
    // A whole answer that breaks off has no end.
    const rest = isBroken && tap.last !== undefined ? undefined : tap.end(cutError(call));
    if (idCheckpoint.isDue() && !(await idCheckpoint.write())) return;
    if (!isBroken) settleIfDone();
    if (settled === undefined) end(call, tap, client, false);
    if (rest !== undefined) await client.write(rest, tap.delivered());
    await close();
  }

  try {
    await passBegun(client, tap, begun.passed, kept);
    for await (const chunk of body) {
      watch.sawBytes();
      receivedBytes += chunk.length;
      const passed = tap.push(chunk);
      const heldBytes = tap.events?.held() ?? 0;
      if (heldBytes > 0) kept.set(heldBytes);
      if (idCheckpoint.isDue() && !(await idCheckpoint.write())) return;
      // The settle begins before the client can know that the answer is whole.
      settleIfDone();
      if (passed !== undefined) {
        const room = client.write(passed, tap.delivered());
        if (room !== undefined) await room;
        // The first bytes leave before the rest of what came during the checkpoint is read.
        if (isFirst) await pause(gateway.environment.timers, 0);
        isFirst = false;
      }
      // After an error the usage may still come, so the answer is read on for a few seconds.
      if (tap.state() !== "open") await close();
      watch.checkpointIfDue();
      const excess = excessOf(gateway, call, tap, receivedBytes);
      if (excess !== null) throw call.giveUp(excess);
    }
    await finish(false);
  } catch {
    // The tap's state says what the answer was.
    await finish(true);
  } finally {
    watch.stop();
    checkModel(gateway, call, tap.model());
    tellLate(gateway, call, settled, tap.reported());
  }
}

type Settled = { ended: Ended; reported: ReportedUsage };

/** Sends the bytes that passed before the response began, as the client reads them. */
async function passBegun(
  client: ClientStream,
  tap: Tap,
  passed: readonly Uint8Array[],
  kept: AnswerShare,
): Promise<void> {
  let waiting = passed.reduce((sum, { length }) => sum + length, 0);
  for (const bytes of passed) {
    waiting -= bytes.length;
    kept.set(waiting);
    await client.write(bytes, tap.delivered());
  }
}

/** Ends the response: with the end of a whole answer once its charge is durable, or as broken. */
async function closeClient(call: Call, tap: Tap, client: ClientStream, settled: Settled | undefined): Promise<void> {
  // A stream of events ends with an error event. Other bytes can only be cut off.
  const isWell = tap.events !== undefined || settled !== undefined;
  if (!isWell || (tap.last !== undefined && !(await settled?.ended.whenDurable()))) return client.fail();
  if (tap.last !== undefined && settled !== undefined) {
    const delivered = tap.delivered();
    const { chargeNanoUsd: costNanoUsd } = settled.ended.conclusion;
    const charged = { ...chargedFor(call.order.quote, { ...settled.reported, delivered }), costNanoUsd };
    await client.write(tap.last(withReceipt(charged, (cost) => call.signReceipt(cost))), delivered);
  }
  client.close();
}

/** Call it before the tap's last bytes are written. They count as delivered if the client is still there. */
function end(call: Call, tap: Tap, client: ClientStream, complete: boolean): Ended {
  const clientGone = client.hasLeft();
  // An answer that had failed before was not cut by us. The provider may bill one that we cut, even if it was empty.
  const isCutByUs = call.isAborted && tap.state() === "open";
  return call.end(
    tap.last === undefined
      ? streamEnding(call, tap, client, { complete, clientGone, isCutByUs })
      : wholeEnding(tap, { complete, clientGone, isCutByUs }),
  );
}

type Circumstances = { complete: boolean; clientGone: boolean; isCutByUs: boolean };

function wholeEnding(tap: Tap, { complete, clientGone, isCutByUs }: Circumstances): Ending {
  const reported = tap.reported();
  const delivered = tap.delivered();
  if (tap.fault() === "error" && isNothingDelivered(delivered)) {
    return { kind: "nothing", why: "it was an error", ...reported, mayBill: null };
  }
  const givenUp = isCutByUs && !clientGone;
  return { kind: "answer", ...reported, delivered, complete, clientGone, givenUp, as: "whole" };
}

function streamEnding(
  call: Call,
  tap: Tap,
  client: ClientStream,
  { complete, clientGone, isCutByUs }: Circumstances,
): Ending {
  const reported = tap.reported();
  const read = tap.delivered();
  const fault = tap.fault();
  const isUnreadable = fault === "malformed";
  if (isNothingDelivered(read) && tap.state() !== "done" && !isCutByUs) {
    const mayBill = fault === "error" ? null : isUnreadable ? "whole" : "stream";
    return { kind: "nothing", why: "no content came", ...reported, mayBill };
  }
  // A flat price is owed even if the client left.
  const isByDelivery = call.order.quote.flatNanoUsd === null;
  const delivered = clientGone && isByDelivery ? client.delivered() : read;
  const givenUp = isCutByUs || isUnreadable;
  return { kind: "answer", ...reported, delivered, read, complete, clientGone, givenUp, as: "stream" };
}

/** A usage that came after the answer was settled is in no receipt. */
function tellLate({ environment }: Gateway, call: Call, settled: Settled | undefined, { beyond }: ReportedUsage): void {
  if (settled === undefined || settled.reported.beyond !== undefined || beyond === undefined) return;
  const alert = "the provider reported a usage after the end of the answer";
  environment.log("alert", "usage", { request: call.id, alert });
}

function cutError(call: Call): ErrorBody {
  if (!call.isAborted) return errorBody({ code: "upstream_error", message: "The provider's answer broke off." });
  const why = call.whyGivenUp ?? "The answer took too long";
  const message = `${why}. The request was aborted. For its charge, ${receiptHint(call.id)}.`;
  return errorBody({ code: "upstream_timeout", message });
}

/**
 * The reason to stop reading an answer that is far longer than requested: the customer owes at most the hold. Null
 * for any other answer.
 */
function excessOf({ config }: Gateway, call: Call, tap: Tap, receivedBytes: number): string | null {
  if (receivedBytes > config.request.answerBytes) return "The answer was too large";
  const { bound } = call.order.quote;
  const most = 2 * (bound?.completionTokens ?? Number.POSITIVE_INFINITY) + limits.excessEvents;
  return tap.last === undefined && tap.delivered().events > most ? "The answer was far longer than requested" : null;
}

/**
 * Notes in the trace the model that the answer names, and alerts the operator if it is not the requested one, which is
 * charged.
 *
 * @param answered The model that the answer names; null if it names none.
 */
export function checkModel(gateway: Gateway, { id, order, trace, upstreamKey }: Call, answered: string | null): void {
  if (answered === null) return;
  const said = answered === order.model.id ? answered : scrub(answered, gateway.secrets(upstreamKey));
  trace.answeredBy(said);
  if (answered === order.model.id) return;
  gateway.environment.log("alert", "other_model", { request: id, asked: order.model.id, answered: said });
}

/** Sends a stream of events or of audio. Throws `UnusableAnswer` if the answer is neither, or audio without a byte. */
export async function answerStream(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  response: UpstreamResponse,
): Promise<Response> {
  const type = mediaType(response.header("content-type"));
  const { stream } = call.order;
  // OpenAI documents bytes of no type for speech.
  const contentType = stream || type === "application/octet-stream" ? type : binaryType(type);
  const isExpected = stream ? type === "text/event-stream" : /^audio\/|^application\/octet-stream$/.test(type);
  if (!isExpected || contentType === null) throw new UnusableAnswer("has an unexpected content type");
  const body = stream ? response.body : await begunAudio(response.body);
  return sendAsItComes(gateway, call, request, {
    tap: stream
      ? eventTap(call.order, gateway.secrets(call.upstreamKey), makeAnswerWriter(gateway, call, request), (cost) =>
          call.signReceipt(cost),
        )
      : audioTap(),
    headers: { ...answerHeaders(request, call.order, contentType), "x-accel-buffering": "no" },
    held: gateway.answerMemory.open(request.credential.partition),
    body,
    begun: { passed: [], receivedBytes: 0, isCheckpointed: false },
  });
}

/** The same bytes, once the first is there: an answer without any can still be refused then. */
async function begunAudio(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const chunks = body[Symbol.asyncIterator]();
  let first = await chunks.next();
  while (first.done !== true && first.value.length === 0) first = await chunks.next();
  if (first.done === true) throw new UnusableAnswer("is empty");
  const { value } = first;
  return (async function* () {
    yield value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  })();
}
