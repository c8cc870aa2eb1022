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
import type { InferenceRequest } from "./request.ts";
import { MAX_WRITTEN_CHARACTERS } from "./stream/answer-writer.ts";
import { readJsonAnswer } from "./stream/json-answer.ts";
import type { JsonTap, JsonTapOptions } from "./stream/json-tap.ts";
import { bytesTap, jsonTap, type WholeTap } from "./stream/whole-tap.ts";
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
    const isWritten = call.order.format !== undefined;
    const gathered = gather(gateway, call, request, isJson);
    const body = response.body[Symbol.asyncIterator]();
    const mayGoOn: MayGoOn = (bytes, received) => {
      const hasRoom = held.set(bytes);
      // Written in another shape, it is not sent before its end.
      if (isWritten) return true;
      if (!hasRoom) return bytes <= limits.parsedAnswerBytes;
      // An answer that may be replayed is gathered up to another size, that of the provider's bytes.
      return request.idempotencyKey === null ? bytes <= limits.gatheredAnswerBytes : received <= limits.replayedBytes;
    };
    const { answerBytes: most } = gateway.config.request;
    const answerBytes = isWritten ? Math.min(most, MAX_WRITTEN_CHARACTERS) : most;
    if (await readInto(call, gathered, body, { mayGoOn, answerBytes })) {
      const answer = isBlocked ? markBlocked(gathered.whole()) : gathered.whole();
      const ending = wholeEnding(gateway, call, request, answer);
      return await settleAndSend(gateway, call, request, { answer, ending, headers, held });
    }
    const begun = gathered.begun();
    if (begun.tap.fault() !== null) throw unusable(call, begun.tap);
    const tap = isBlocked ? markBlocked(begun.tap) : begun.tap;
    const sent = await answerLarge(gateway, call, request, { ...begun, tap, body, headers, held });
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

/** An answer that is whole, however it was read. */
type Answer = Pick<JsonTap, "reported" | "delivered" | "elements" | "upstreamId" | "model"> & {
  body(chargeNanoUsd: number): string | Uint8Array;
};

/** The part of an answer that has arrived. Nothing of it was sent. */
type Gathered = {
  push(chunk: Uint8Array): void;
  bytes(): number;
  /** Throws `UnusableAnswer`. */
  whole(): Answer;
  /** The same, to be sent as it comes. */
  begun(): { tap: WholeTap; passed: Uint8Array; received: number };
};

/** A small JSON answer is parsed whole, which is faster. A larger one runs through the tap. */
function gather(gateway: Gateway, call: Call, request: InferenceRequest, isJson: boolean): Gathered {
  const options = tapOptions(gateway, call, request);
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  let received = 0;
  let tap: WholeTap | undefined = isJson ? undefined : bytesTap();

  function pass(chunk: Uint8Array | undefined): void {
    if (chunk === undefined) return;
    chunks.push(chunk);
    bytes += chunk.length;
  }

  function startTap(): WholeTap {
    if (tap !== undefined) return tap;
    tap = jsonTap(options);
    const raw = chunks;
    chunks = [];
    bytes = 0;
    for (const chunk of raw) pass(tap.push(chunk));
    return tap;
  }

  return {
    push(chunk) {
      received += chunk.length;
      pass(tap === undefined ? chunk : tap.push(chunk));
      if (bytes > limits.parsedAnswerBytes) startTap();
    },
    bytes: () => bytes,
    whole() {
      const small = tap === undefined ? readJsonAnswer(joinBytes(chunks), options) : undefined;
      if (small !== undefined) return { ...small, body: small.text };
      const read = startTap();
      read.end();
      if (read.state() !== "done") throw unusable(call, read);
      return { ...read, body: (chargeNanoUsd) => joinBytes([...chunks, read.last(chargeNanoUsd)]) };
    },
    begun() {
      const begun = startTap();
      return { tap: begun, passed: joinBytes(chunks), received };
    },
  };
}

function unusable(call: Call, tap: WholeTap): UnusableAnswer {
  call.noteUpstreamId(tap.upstreamId());
  const reported = tap.reported();
  if (tap.fault() === "error") return new UnusableAnswer("was an error", { reported, mayBill: false });
  return new UnusableAnswer("cannot be read", { reported });
}

/** Whether to gather more, by the bytes for the client so far and the bytes that were received. */
type MayGoOn = (bytes: number, received: number) => boolean;

/** Reads an answer to its end; false if `mayGoOn` stopped it before. Throws `BrokenAnswer`. */
async function readInto(
  call: Call,
  gathered: Gathered,
  body: AsyncIterator<Uint8Array>,
  { mayGoOn, answerBytes }: { mayGoOn: MayGoOn; answerBytes: number },
): Promise<boolean> {
  let received = 0;
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await body.next();
    } catch (error) {
      const { tap } = gathered.begun();
      // The answer is whole, whatever the connection says.
      if (tap.state() === "done") return true;
      throw new BrokenAnswer(error, tap.reported());
    }
    if (next.done === true) return true;
    gathered.push(next.value);
    received += next.value.length;
    if (received > answerBytes) {
      throw new BrokenAnswer(call.giveUp("The answer was too large"), gathered.begun().tap.reported());
    }
    if (!mayGoOn(gathered.bytes(), received)) return false;
  }
}

function tapOptions(gateway: Gateway, call: Call, { route }: InferenceRequest): JsonTapOptions {
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
function wholeEnding(gateway: Gateway, call: Call, request: InferenceRequest, answer: Answer): WholeEnding {
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
  }: { answer: Answer; ending: WholeEnding; headers: Record<string, string>; held: HeldAnswer },
): Promise<Response> {
  const { outcome, chargeNanoUsd } = conclude(call.order.quote, ending);
  const writer = makeAnswerWriter(gateway, call, request);
  const given = answer.body(chargeNanoUsd);
  const body = writer === null ? given : writeWhole(writer, textOf(given), chargedFor(call.order.quote, ending));
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
