import { LedgerUnavailable } from "@inference/ledger/client";
import { RECEIPT_HEADER } from "@inference/protocol/signed-receipt";
import { joinBytes } from "../../bytes.ts";
import { limits } from "../../config.ts";
import type { UpstreamResponse } from "../../environment.ts";
import type { Gateway } from "../../gateway.ts";
import { isSpace } from "../../http/json/json-scan.ts";
import { balanceHeader } from "../../http/money.ts";
import { asObject, parseJson } from "../../json-object.ts";
import type { AnswerShare } from "../../load/answer-memory.ts";
import type { Delivered } from "../../pricing/quote.ts";
import { keepAnswer } from "../admission/idempotency.ts";
import type { Call } from "../call.ts";
import { conclude, type Ending } from "../charge/conclusion.ts";
import type { InferenceRequest } from "../request.ts";
import { MAX_WRITTEN_CHARACTERS } from "../stream/answer-writer.ts";
import { readJsonAnswer, readThrough, type WholeAnswer } from "../stream/json-answer.ts";
import { createJsonRelay, type JsonOptions } from "../stream/json-relay.ts";
import { base64Tap, bytesTap, type WholeTap } from "../stream/tap.ts";
import { chargedFor } from "../stream/usage-json.ts";
import { answerHeaders, binaryType, makeAnswerWriter, mediaType, writeWhole } from "./answer-format.ts";
import { checkModel, sendAsItComes } from "./answer-relay.ts";
import { BrokenAnswer, UnusableAnswer } from "./failure.ts";

/**
 * Reads a whole answer, measures and settles it, and only then sends it: the charge of an answer that a client has is
 * durable. With a ledger that is far away the settle begins first, and the answer does not wait for it: until then the
 * hold stands for the charge. If the client leaves, the answer is read on, because the provider bills it all the same.
 *
 * An answer too large to gather is sent while it arrives, and only its end waits for the charge. So is any
 * answer that is not small while memory is short.
 */
export async function answerWhole(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  response: UpstreamResponse,
): Promise<Response> {
  const held = gateway.answerMemory.open(request.credential.partition);
  let isLarge = false;
  try {
    // The header counts for images only. For tokens the usage decides.
    const isImage = call.order.quote.flatNanoUsd !== null;
    const { blockedHeader } = gateway.config.upstream;
    const isBlocked = isImage && blockedHeader !== null && response.header(blockedHeader) === "true";
    const { form, contentType } = formOf(call, mediaType(response.header("content-type")));
    const headers = answerHeaders(request, call.order, contentType);
    const options = jsonOptions(gateway, call, request);
    const body = response.body[Symbol.asyncIterator]();
    const gathered = await gather(gateway, call, { held, body, form });
    if (!gathered.isLarge) {
      const read = readGathered(call, gathered, { form, options });
      const answer = isBlocked ? markBlocked(read) : read;
      return await settleAndSend(gateway, call, request, { answer, headers, held });
    }
    const begun = makeTap(call, form, options);
    const passed = gathered.chunks.flatMap((chunk) => begun.push(chunk) ?? []);
    if (begun.fault() !== null) throw unusable(call, begun);
    const tap = isBlocked ? markBlocked(begun) : begun;
    await checkpointFirst(gateway, call, tap);
    isLarge = true;
    // From here on its bytes count where they wait.
    held.release();
    return sendAsItComes(gateway, call, request, {
      tap,
      headers,
      held,
      body: { [Symbol.asyncIterator]: () => body },
      begun: { passed, receivedBytes: gathered.bytes, isCheckpointed: true },
    });
  } catch (error) {
    held.release();
    throw error;
  } finally {
    if (!isLarge) call.close();
  }
}

/** The form of an answer: JSON, an image's bytes, or an image that goes on in JSON. */
type AnswerForm = "json" | "bytes" | "base64";

/** @returns Also the content type that the client sees. Throws `UnusableAnswer` for a type that was not asked for. */
function formOf({ order }: Call, type: string): { form: AnswerForm; contentType: string } {
  if (type === "application/json") {
    return { form: "json", contentType: order.answerAs === "text" ? "text/plain; charset=utf-8" : type };
  }
  const contentType = order.quote.flatNanoUsd === null ? null : binaryType(type);
  if (contentType === null) throw new UnusableAnswer("has an unexpected content type");
  return order.answerAs === "base64"
    ? { form: "base64", contentType: "application/json" }
    : { form: "bytes", contentType };
}

function makeTap(call: Call, form: AnswerForm, options: JsonOptions): WholeTap {
  if (form === "base64") return base64Tap(Math.floor(call.at / 1000));
  return form === "bytes" ? bytesTap() : createJsonRelay(options);
}

/** The same answer, marked: the provider says that it blocked an image. */
function markBlocked<T extends { delivered(): Delivered }>(answer: T): T {
  return { ...answer, delivered: () => ({ ...answer.delivered(), isBlocked: true }) };
}

type Gathered = {
  chunks: readonly Uint8Array[];
  bytes: number;
  /** It is not whole, and too large to be gathered. */
  isLarge: boolean;
  /** The error with which the connection broke off, or with which the answer was given up. */
  error?: unknown;
};

/** Gathers an answer to its end, or until it is too large for that. */
async function gather(
  gateway: Gateway,
  call: Call,
  { held, body, form }: { held: AnswerShare; body: AsyncIterator<Uint8Array>; form: AnswerForm },
): Promise<Gathered> {
  // An answer that is written in another shape is not sent before its end.
  const isWritten = call.order.answerAs === "text" || call.order.format !== undefined;
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
      return { chunks, bytes, isLarge: false, error };
    }
    if (next.done === true) return { chunks, bytes, isLarge: false };
    received += next.value.length;
    // Some providers send white space while a client waits for the answer.
    const chunk = form === "json" && bytes === 0 ? withoutSpace(next.value) : next.value;
    if (chunk.length > 0) chunks.push(chunk);
    bytes += chunk.length;
    if (received > answerBytes) {
      return { chunks, bytes, isLarge: false, error: call.giveUp("The answer was too large") };
    }
    const mostGathered = held.set(bytes) ? limits.gatheredAnswerBytes : limits.smallAnswerBytes;
    if (bytes > mostGathered && !isWritten) return { chunks, bytes, isLarge: true };
  }
}

function withoutSpace(chunk: Uint8Array): Uint8Array {
  const start = chunk.findIndex((byte) => !isSpace(byte));
  return chunk.subarray(start === -1 ? chunk.length : start);
}

/**
 * Reads an answer that was gathered. JSON that parses is whole, whatever the connection says. Throws `BrokenAnswer` or
 * `UnusableAnswer`.
 */
function readGathered(
  call: Call,
  { chunks, error }: Gathered,
  { form, options }: { form: AnswerForm; options: JsonOptions },
): WholeAnswer {
  const bytes = joinBytes(chunks);
  const answer = form === "json" ? readJsonAnswer(bytes, options) : readThrough(makeTap(call, form, options), bytes);
  const mayBeWhole = form === "json" && call.whyGivenUp === null && answer.fault() !== "malformed";
  const isWhole = error === undefined || mayBeWhole;
  if (!isWhole) throw new BrokenAnswer(error, answer.reported());
  if (answer.fault() !== null) throw unusable(call, answer);
  return answer;
}

function unusable(call: Call, answer: Pick<WholeAnswer, "fault" | "reported" | "upstreamId">): UnusableAnswer {
  call.noteUpstreamId(answer.upstreamId());
  const reported = answer.reported();
  if (answer.fault() === "error") return new UnusableAnswer("was an error", { reported, mayBill: false });
  return new UnusableAnswer("cannot be read", { reported });
}

/** The first checkpoint of a large answer. Throws `LedgerUnavailable` if it cannot be written: nothing was sent yet. */
async function checkpointFirst({ environment }: Gateway, call: Call, tap: WholeTap): Promise<void> {
  call.noteUpstreamId(tap.upstreamId());
  try {
    await call.checkpoint(tap.delivered());
  } catch (error) {
    environment.log("warn", "checkpoint_failed", { request: call.id, error: String(error) });
    throw new LedgerUnavailable("the first checkpoint could not be written down");
  }
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
  return {
    kind: "answer",
    ...reported,
    delivered,
    complete: true,
    as: "whole",
    clientGone: request.clientGone?.aborted ?? false,
    givenUp: false,
  };
}

/**
 * Settles an answer and returns its response. Throws `UnusableAnswer` if it has nothing of what was requested, and
 * `LedgerUnavailable` if the charge cannot be written now.
 */
async function settleAndSend(
  gateway: Gateway,
  call: Call,
  request: InferenceRequest,
  { answer, headers, held }: { answer: WholeAnswer; headers: Record<string, string>; held: AnswerShare },
): Promise<Response> {
  const ending = wholeEnding(gateway, call, request, answer);
  const { outcome, chargeNanoUsd } = conclude(call.order.quote, ending);
  const writer = makeAnswerWriter(gateway, call, request);
  const charged = { ...chargedFor(call.order.quote, ending), costNanoUsd: chargeNanoUsd };
  const made = answer.body(charged);
  // The text of silence is empty.
  const given = call.order.answerAs === "text" ? String(asObject(parseJson(textOf(made)))?.text ?? "") : made;
  const body = writer === null ? given : writeWhole(writer, textOf(given), charged);
  if (writer !== null && body === "") {
    throw new UnusableAnswer("has content that this API cannot carry", { reported: answer.reported() });
  }
  held.set(body.length);
  // Before the settle, so that the answer of a request that counts as served is there.
  const mayBeReplayed = (request.idempotencyKey ?? request.paid) !== null && outcome === "settle";
  const receipt = call.signReceipt(chargeNanoUsd);
  if (receipt !== null) headers[RECEIPT_HEADER] = receipt;
  if (mayBeReplayed) await keepAnswer(gateway, request, { headers, body });
  // A repeated request is to find the kept answer, and no request in progress.
  if (gateway.config.ledgerIsFar && !mayBeReplayed) {
    const { availableNanoUsd: heldFrom } = call;
    Object.assign(
      headers,
      balanceHeader(heldFrom === undefined ? undefined : heldFrom + call.heldNanoUsd - chargeNanoUsd),
    );
    call.end(ending);
  } else {
    const ended = call.end(ending, { isSent: false });
    if (!(await ended.whenDurable())) throw new LedgerUnavailable("the charge could not be written");
    Object.assign(headers, balanceHeader(call.availableNanoUsd));
  }
  held.releaseWhen(request.whenSent);
  return new Response(body as BodyInit, { status: 200, headers });
}
