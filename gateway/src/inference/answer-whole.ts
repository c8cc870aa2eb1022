import { LedgerUnavailable } from "@inference/ledger/client";
import { limits } from "../config.ts";
import type { UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { joinBytes } from "../join-bytes.ts";
import type { HeldAnswer } from "../limits/held-answers.ts";
import type { Delivered } from "../pricing/quote.ts";
import { makeAnswerWriter, writeWhole } from "./answer-format.ts";
import { answerHeaders, binaryType, mediaType } from "./answer-headers.ts";
import { answerLarge } from "./answer-large.ts";
import type { Call } from "./call.ts";
import { checkModel } from "./check-model.ts";
import { conclude, type Ending } from "./conclusion.ts";
import { BrokenAnswer, UnusableAnswer } from "./failure.ts";
import { keepAnswer } from "./idempotency.ts";
import { isSpace } from "./json-scan.ts";
import type { InferenceRequest } from "./request.ts";
import { MAX_WRITTEN_CHARACTERS } from "./stream/answer-writer.ts";
import { readJsonAnswer, type WholeAnswer } from "./stream/json-answer.ts";
import { createJsonRelay, type JsonOptions } from "./stream/json-relay.ts";
import { bytesTap, type WholeTap } from "./stream/whole-tap.ts";
import { chargedFor } from "./stream/writing-relay.ts";

/**
 * Reads a whole answer, measures and settles it, and only then sends it: the charge of an answer that a client has is
 * durable. If the client leaves, the answer is read on, because the provider bills it all the same.
 *
 * An answer that is too large to be gathered is sent as it comes (`answer-large.ts`), and only its end waits for the
 * charge. So is any answer that is not small while memory is short.
 */
export async function answerWhole(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  response: UpstreamResponse,
): Promise<Response> {
  const held = gateway.heldAnswers.open(request.credential.partition);
  let isLarge = false;
  try {
    const { blockedHeader } = gateway.config.upstream;
    // The header counts for images only. Of tokens the usage says what is billed.
    const isImage = call.order.quote.flatNanoUsd !== null;
    const isBlocked = isImage && blockedHeader !== null && response.header(blockedHeader) === "true";
    const type = mediaType(response.header("content-type"));
    const isJson = type === "application/json";
    const contentType = isJson ? type : binaryType(type);
    if (contentType === null || (!isJson && !isImage)) {
      throw new UnusableAnswer("has an unexpected content type");
    }
    const headers = answerHeaders(request, call.order, contentType);
    const options = isJson ? jsonOptions(gateway, call, request) : null;
    const body = response.body[Symbol.asyncIterator]();
    const { bytes, isWhole } = await gather(gateway, call, { held, body, options });
    if (isWhole) {
      const read = options === null ? readBytesAnswer(bytes) : readJsonAnswer(bytes, options);
      if (read.fault() !== null) throw unusable(call, read);
      const answer = isBlocked ? markBlocked(read) : read;
      const ending = wholeEnding(gateway, call, request, answer);
      return await settleAndSend(gateway, call, request, { answer, ending, headers, held });
    }
    const begun = options === null ? bytesTap() : createJsonRelay(options);
    const passed = begun.push(bytes) ?? new Uint8Array();
    if (begun.fault() !== null) throw unusable(call, begun);
    const tap = isBlocked ? markBlocked(begun) : begun;
    const sent = await answerLarge(gateway, call, request, {
      tap,
      passed,
      received: bytes.length,
      body,
      headers,
      held,
    });
    isLarge = true;
    return sent;
  } catch (error) {
    held.release();
    throw error;
  } finally {
    if (!isLarge) call.close();
  }
}

/** The same answer, marked: the provider says that it blocked an image. */
function markBlocked<T extends { delivered(): Delivered }>(answer: T): T {
  return { ...answer, delivered: () => ({ ...answer.delivered(), isBlocked: true }) };
}

function readBytesAnswer(bytes: Uint8Array): WholeAnswer {
  const tap = bytesTap();
  tap.push(bytes);
  tap.end();
  return { ...tap, fault: () => (tap.state() === "done" ? null : "malformed"), body: tap.last };
}

function unusable(call: Call, answer: Pick<WholeAnswer, "fault" | "reported" | "upstreamId">): UnusableAnswer {
  call.noteUpstreamId(answer.upstreamId());
  const reported = answer.reported();
  if (answer.fault() === "error") return new UnusableAnswer("was an error", { reported, mayBill: false });
  return new UnusableAnswer("cannot be read", { reported });
}

type Arriving = { held: HeldAnswer; body: AsyncIterator<Uint8Array>; options: JsonOptions | null };

/** Gathers an answer to its end, or until it is too large for that. Throws `BrokenAnswer`. */
async function gather(
  gateway: Gateway,
  call: Call,
  { held, body, options }: Arriving,
): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  // Written in another shape, it is not sent before its end.
  const isWritten = call.order.format !== undefined;
  const { answerBytes: most } = gateway.config.request;
  const answerBytes = isWritten ? Math.min(most, MAX_WRITTEN_CHARACTERS) : most;
  const chunks: Uint8Array[] = [];
  let received = 0;
  let bytes = 0;
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await body.next();
    } catch (error) {
      const read = readBegun(chunks, options);
      // The answer is whole, whatever the connection says.
      if (read.state() === "done") return { bytes: joinBytes(chunks), isWhole: true };
      throw new BrokenAnswer(error, read.reported());
    }
    if (next.done === true) return { bytes: joinBytes(chunks), isWhole: true };
    received += next.value.length;
    // Some providers send white space while a client waits for the answer.
    const chunk = options !== null && bytes === 0 ? withoutSpace(next.value) : next.value;
    if (chunk.length > 0) chunks.push(chunk);
    bytes += chunk.length;
    if (received > answerBytes) {
      throw new BrokenAnswer(call.giveUp("The answer was too large"), readBegun(chunks, options).reported());
    }
    const mostGathered = held.set(bytes) ? limits.gatheredAnswerBytes : limits.smallAnswerBytes;
    if (bytes > mostGathered && !isWritten) return { bytes: joinBytes(chunks), isWhole: false };
  }
}

function withoutSpace(chunk: Uint8Array): Uint8Array {
  const start = chunk.findIndex((byte) => !isSpace(byte));
  return chunk.subarray(start === -1 ? chunk.length : start);
}

function readBegun(chunks: readonly Uint8Array[], options: JsonOptions | null): WholeTap {
  const tap = options === null ? bytesTap() : createJsonRelay(options);
  tap.push(joinBytes(chunks));
  return tap;
}

function jsonOptions(gateway: Gateway, call: Call, { route }: InferenceRequest): JsonOptions {
  return {
    shown: route.answerFields,
    content: route.content?.field ?? "",
    elements: route.content?.elements ?? "choices",
    secrets: gateway.secrets(call.upstreamKey),
    bound: call.order.quote.bound,
  };
}

type WholeEnding = Extract<Ending, { kind: "answer" }>;

function textOf(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

/** The ending of a whole answer. Throws `UnusableAnswer` if it has nothing of what was requested. */
function wholeEnding(gateway: Gateway, call: Call, request: InferenceRequest, answer: WholeAnswer): WholeEnding {
  call.noteUpstreamId(answer.upstreamId());
  const reported = answer.reported();
  const delivered = answer.delivered();
  // A chat without content may have used tokens.
  const isChat = request.route.content?.elements === "choices";
  const isSomething = isChat ? answer.elements() > 0 || typeof reported.usage === "object" : delivered.events > 0;
  if (!isSomething && delivered.isBlocked !== true) throw new UnusableAnswer("is empty", { reported });
  checkModel(gateway, call, answer.model());
  const { usage, malformedUsage } = reported;
  return {
    kind: "answer",
    usage,
    malformedUsage,
    delivered,
    complete: true,
    as: "whole",
    clientGone: request.clientGone?.aborted ?? false,
    givenUp: false,
  };
}

/** Settles an answer and returns its response. Throws `LedgerUnavailable` if the charge cannot be written now. */
async function settleAndSend(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  {
    answer,
    ending,
    headers,
    held,
  }: { answer: WholeAnswer; ending: WholeEnding; headers: Record<string, string>; held: HeldAnswer },
): Promise<Response> {
  const { outcome, chargeNanoUsd } = conclude(call.order.quote, ending);
  const writer = makeAnswerWriter(gateway, call, request);
  const charged = { ...chargedFor(call.order.quote, ending), costNanoUsd: chargeNanoUsd };
  const given = answer.body(charged);
  const body = writer === null ? given : writeWhole(writer, textOf(given), charged);
  if (body === "") throw new UnusableAnswer("has content that this API cannot carry", { reported: answer.reported() });
  held.set(body.length);
  // Before the settle, so that the answer of a request that counts as served is there.
  const mayBeReplayed = request.idempotencyKey !== null && outcome === "settle";
  if (mayBeReplayed) await keepAnswer(gateway, request, { headers, body });
  const ended = call.end(ending, { isSent: false });
  if (!(await ended.whenDurable())) throw new LedgerUnavailable("the charge could not be written");
  held.releaseWhen(request.whenSent);
  return new Response(body as BodyInit, { status: 200, headers });
}
