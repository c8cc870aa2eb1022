import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import {
  bytesOf,
  content,
  DONE,
  deltaJson,
  event,
  runTap,
  textOf,
  usageCounts,
  usageEvent,
} from "../../../test/metering/streams.ts";
import { joinBytes } from "../../bytes.ts";

/** Segments of every kind, among them some that end the stream. */
const anySegment = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => event(content(text))) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      event(deltaJson({ role: "assistant", content: "" })),
      event(deltaJson({}, "length")),
      event(usageEvent()),
      event(usageEvent({ ...usageCounts, prompt_tokens: 2 })),
      event(usageEvent({ prompt_tokens: 1.5 })),
      event('{"type":"ping"}'),
      ": comment\n",
      "\n",
      "event: message\n: inside\ndata:{\ndata: }\n\n",
      event(""),
      event(content("é\\u00e9\ud83d\udc4b")),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(DONE, event('{"error":"e"}'), event("garbage"), "data: cut short") },
);

const anyStream = fc
  .tuple(fc.array(anySegment, { maxLength: 12 }), fc.constantFrom("\n", "\r\n", "\r"), fc.constantFrom("", "\uFEFF"))
  .map(([segments, lineEnd, mark]) => bytesOf(mark + segments.join("").replaceAll("\n", lineEnd)));

/** A stream, and the places where it is cut. */
const anyCutStream = anyStream.chain((stream) =>
  fc.record({ stream: fc.constant(stream), cuts: fc.array(fc.nat(stream.length), { maxLength: 20 }) }),
);

function cutAt(stream: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...[...cuts].sort((a, b) => a - b), stream.length];
  return places.slice(1).map((end, index) => stream.slice(places[index], end));
}

test("wherever a stream is cut into chunks, the same bytes go out and the same was seen", () => {
  fc.assert(
    fc.property(anyCutStream, fc.boolean(), ({ stream, cuts }, includeUsage) => {
      assert.deepEqual(runTap(cutAt(stream, cuts), { includeUsage }), runTap([stream], { includeUsage }));
    }),
    { numRuns: runs(500) },
  );
});

test("byte by byte is as good as whole", () => {
  fc.assert(
    fc.property(anyStream, (stream) => {
      const bytes = [...stream].map((byte) => Uint8Array.of(byte));
      assert.deepEqual(runTap(bytes, { includeUsage: true }), runTap([stream], { includeUsage: true }));
    }),
    { numRuns: runs(100) },
  );
});

test("a stream of content alone goes out as it came in, and no byte of it is missed", () => {
  const texts = fc.array(fc.string({ unit: "binary", maxLength: 20 }), { maxLength: 20 });
  fc.assert(
    fc.property(texts, (contents) => {
      const stream = bytesOf(contents.map((text) => event(content(text))).join("") + DONE);
      const { text, result } = runTap(
        cutAt(
          stream,
          [7, 70, 300].filter((cut) => cut < stream.length),
        ),
      );
      assert.equal(text, textOf(joinBytes([stream])));
      assert.equal(result.delivered.bytes, bytesOf(contents.join("")).length);
    }),
    { numRuns: runs(166) },
  );
});

test("no byte of a provider's error goes out", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8 }), fc.nat(60), (message, cut) => {
      const secret = `<<${message}>>`;
      const stream = bytesOf(event(JSON.stringify({ error: { message: secret } })) + DONE);
      const { text } = runTap(cutAt(stream, [Math.min(cut, stream.length)]));
      assert.ok(!text.includes(JSON.stringify(secret).slice(1, -1)));
    }),
  );
});
