import fc from "fast-check";
import { joinBytes } from "../../src/bytes.ts";
import type { AnswerWriter, WriterContext } from "../../src/inference/stream/answer-writer.ts";
import { eventTap } from "../../src/inference/stream/tap.ts";
import { quoteText } from "../../src/pricing/quote.ts";
import { bytesOf, DONE, deltaJson, event, noSecrets, textOf, usageEvent } from "../metering/streams.ts";

/** Random chat answers, as whole messages and as streams. */
export type ChatMessage = {
  reasoning_content: string | null;
  content: string | null;
  refusal: string | null;
  tool_calls: { id: string; type: "function"; function: { name: string; arguments: string } }[];
};

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
const json = fc
  .dictionary(fc.constantFrom("path", "text", "n"), fc.jsonValue({ maxDepth: 1 }))
  .map((value) => JSON.stringify(value));
/** @param names Of the tools that it may call. */
export const anyMessage = (names: readonly string[]): fc.Arbitrary<ChatMessage> =>
  fc
    .record({
      reasoning_content: fc.option(words),
      content: fc.option(words),
      refusal: fc.option(words, { freq: 6 }),
      calls: fc.array(fc.tuple(fc.constantFrom(...names), json), { maxLength: 3 }),
    })
    .map(({ calls, ...message }) => ({
      ...message,
      tool_calls: calls.map(([name, given], index) => ({
        id: `call_${index}`,
        type: "function" as const,
        function: { name, arguments: given },
      })),
    }));

/** The deltas of a message in the order of a whole one, cut at random; its calls may take turns. */
const anyDeltas = (message: ChatMessage): fc.Arbitrary<object[]> =>
  fc
    .record({
      cuts: fc.infiniteStream(fc.integer({ min: 1, max: 8 })),
      turns: fc.infiniteStream(fc.nat(2)),
      takesTurns: fc.boolean(),
    })
    .map(({ cuts, turns, takesTurns }) => {
      const pieces = (text: string): string[] => {
        const found: string[] = [];
        for (let at = 0; at < text.length; ) {
          const next = at + cuts.next().value;
          found.push(text.slice(at, next));
          at = next;
        }
        return found;
      };
      const deltas: object[] = [{ role: "assistant", content: "" }];
      for (const field of ["reasoning_content", "content", "refusal"] as const) {
        for (const piece of pieces(message[field] ?? "")) deltas.push({ [field]: piece });
      }
      const calls = message.tool_calls.map(({ function: called, ...call }, index) => [
        { tool_calls: [{ index, ...call, function: { name: called.name, arguments: "" } }] },
        ...pieces(called.arguments).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ]);
      if (!takesTurns) return [...deltas, ...calls.flat()];
      // Each call begins in order, and goes on in any.
      for (const call of calls) deltas.push(...call.splice(0, 1));
      while (calls.some(({ length }) => length > 0)) {
        const left = calls.filter(({ length }) => length > 0);
        deltas.push(left[turns.next().value % left.length]?.shift() as object);
      }
      return deltas;
    });

/** A message, its deltas, why it ended, and where its bytes are cut. */
export const anyAnswer = (names: readonly string[]) =>
  anyMessage(names).chain((message) =>
    fc.record({
      message: fc.constant(message),
      deltas: anyDeltas(message),
      reason: fc.constantFrom("stop", "length", "content_filter", "tool_calls"),
      cuts: fc.array(fc.nat(), { maxLength: 12 }),
    }),
  );

/** A message as the provider gets it back in a conversation, with the results of its calls. */
export function asHistory({ content, refusal, reasoning_content }: ChatMessage, calls: ChatMessage["tool_calls"]) {
  const said = (content ?? "") + (refusal ?? "");
  const message = {
    role: "assistant",
    content: said === "" ? null : said,
    ...(reasoning_content ? { reasoning_content } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "ok" }));
  return [...(said === "" && calls.length === 0 ? [] : [message]), ...results];
}

export type StreamEnd = "done" | "no [DONE]" | "cut" | "error";

export function streamOf(deltas: readonly object[], reason: string, end: StreamEnd): Uint8Array {
  const events = deltas.map((delta) => event(deltaJson(delta)));
  if (end === "cut") return bytesOf(events.join(""));
  if (end === "error") return bytesOf(events.join("") + event('{"error":{"message":"provider\'s own words"}}'));
  const rest = event(deltaJson({}, reason)) + event(usageEvent());
  return bytesOf(events.join("") + rest + (end === "done" ? DONE : ""));
}

const MICRO = 1_000_000_000_000n;
export const quote = quoteText({
  snapshotId: "s",
  price: { kind: "text", rates: { input: MICRO, output: MICRO } },
  promptTokens: 1000,
  choices: 1,
  maxTokens: 1000,
  modelMaxTokens: 1000,
});

export const writerContext: WriterContext = {
  requestId: "req_0123",
  id: "0123",
  at: 1_760_000_000_500,
  seal: (text) => `sealed ${text}`,
  secrets: noSecrets,
};

/** The client's text of a stream that arrives in these chunks. */
export function written(writer: AnswerWriter, chunks: readonly Uint8Array[]): string {
  const tap = eventTap({ includeUsage: false, quote }, noSecrets, writer);
  const out: Uint8Array[] = [];
  for (const chunk of chunks) out.push(tap.push(chunk) ?? new Uint8Array());
  out.push(
    tap.end({ error: { message: "It broke off.", type: "server_error", param: null, code: "upstream_error" } }) ??
      new Uint8Array(),
  );
  return textOf(joinBytes(out));
}

export function cutAt(stream: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length];
  return places.slice(1).map((end, index) => stream.slice(places[index], end));
}

/** A client of a library that gets this answer to any request. */
export function fetchOf(body: string, contentType: string): typeof fetch {
  return async () => new Response(body, { status: 200, headers: { "content-type": contentType } });
}
