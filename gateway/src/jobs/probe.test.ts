import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../test/identity-fixture.ts";
import { overlay } from "../catalogue/overlay.ts";
import { type LogFields, UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import { probeProvider } from "./probe.ts";

const row = (id: string, input: string) => ({ id, type: "text", usd_per_million_tokens: { input, output: input } });
const file = JSON.stringify({ models: [row("dear", "9"), row("free", "0"), row("cheap", "1"), row("middle", "2")] });
const { snapshot } = overlay(file, null, { atMs: 0 });

type Given = { status?: number; text?: string | AsyncIterable<Uint8Array> };

/** Probes a provider that gives these answers one after the other. */
async function probe(...answers: (Given | Error)[]) {
  const { gateway } = openFixture();
  const asked: Record<string, unknown>[] = [];
  const lines: [string, LogFields][] = [];
  const problems = await probeProvider({
    ...{ upstream: { ...gateway.config.upstream, chatExtras: { hidden: false } }, snapshot },
    timers: gateway.environment.timers,
    log: (level, event, fields = {}) => void lines.push([`${level} ${event}`, fields]),
    provider: {
      async infer({ body }) {
        asked.push(JSON.parse(Buffer.from(body).toString()));
        const given = answers[asked.length - 1] ?? assert.fail("too many requests");
        if (given instanceof Error) throw given;
        const { status = 200, text = "" } = given;
        const once = [new TextEncoder().encode(String(text))];
        const arrives = typeof text === "string" ? arriving(once) : text;
        return { status, header: () => null, body: arrives } satisfies UpstreamResponse;
      },
    },
  });
  return { problems, asked, lines };
}

async function* arriving(chunks: Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  yield* chunks;
}

const stream = (...events: object[]) =>
  `${events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("")}data: [DONE]\n\n`;
const told = (completion_tokens: number) => ({ choices: [], usage: { prompt_tokens: 12, completion_tokens } });
const word = { choices: [{ delta: { content: "1" } }] };

test("one token of the cheapest model that costs something is asked for, as for customers, and its cost logged", async () => {
  const { problems, asked, lines } = await probe({ text: stream(word, { ...word, usage: null }, told(1)) });
  assert.deepEqual(problems, []);
  assert.partialDeepStrictEqual(asked, [
    { model: "cheap", max_tokens: 1, stream: true, stream_options: { include_usage: true }, hidden: false },
  ]);
  const [[event, { costUsd, mostUsd, completionTokens } = {}] = []] = lines;
  assert.deepEqual([event, costUsd, completionTokens], ["info probe", "0.000013", 1]);
  assert.ok(Number(mostUsd) > 0 && Number(mostUsd) < 0.01);
});

test("more tokens than were asked for are named, with the setting that may help", async () => {
  const { problems } = await probe({ text: stream(word, told(26)) });
  assert.match(
    problems.join(),
    /with 26 tokens although `max_tokens` was 1.*UPSTREAM_OUTPUT_FIELD=max_completion_tokens/,
  );
});

test("an answer that does not end is read to a limit, and counts as more than one token", async () => {
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      sent += 1;
      yield Buffer.from(stream(word));
    }
  }
  const { problems } = await probe({ text: endless() });
  assert.match(problems.join(), /much more than one token/);
  assert.ok(sent < 5_000);
});

test("a stream without a usage, or with one that cannot be, is named", async () => {
  for (const text of [stream(word), stream(word, { usage: null }), stream(word, told(-1)), "{", ""]) {
    const { problems } = await probe({ text });
    assert.match(problems.join(), /reported no usage with a stream of `cheap`/, text);
  }
});

test("a model that does not answer is passed over for the next, and none that answers stops no start", async () => {
  const away = new UpstreamFailure("sent", "the connection broke");
  const failing = { text: stream({ error: { message: "overloaded" } }) };
  const third = await probe(failing, { status: 429 }, { text: stream(told(1)) });
  assert.deepEqual([third.problems, third.asked.length], [[], 3]);
  const second = await probe({ status: 429 }, { text: stream(told(2)) });
  assert.deepEqual(
    second.asked.map(({ model }) => model),
    ["cheap", "middle"],
  );
  assert.match(second.problems.join(), /`middle` with 2 tokens/);
  const none = await probe({ status: 429 }, away, { status: 500, text: "no" });
  assert.deepEqual(none.problems, []);
  assert.deepEqual(
    none.lines.map(([event, { why } = {}]) => [event, why]),
    ["it answered 429", "the connection broke", "it answered 500"].map((why) => ["warn probe_failed", why]),
  );
});
