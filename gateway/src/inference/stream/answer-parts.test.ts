import assert from "node:assert/strict";
import { test } from "node:test";
import { writerContext, written } from "../../../test/formats/chat-answers.ts";
import { bytesOf, DONE, deltaJson, event, noSecrets } from "../../../test/metering/streams.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { type AnswerPart, createAnswerParts } from "./answer-parts.ts";
import { readChoice } from "./choice-content.ts";
import { createMessagesWriter } from "./messages-writer.ts";

type Said = Pick<AnswerPart, "kind" | "text"> & Partial<{ id: string; name: string }>;

/** The parts of choices, and whether all could be written. */
function partsOf(choices: readonly object[], secrets = noSecrets): { parts: Said[]; isWritten: boolean } {
  const parts: Said[] = [];
  let ids = 0;
  const sink = {
    open: (part: AnswerPart) => {
      parts.push(part.kind === "call" ? { kind: part.kind, id: part.id, name: part.name, text: "" } : { ...part });
    },
    delta: () => undefined,
    close: (part: AnswerPart) => {
      (parts.at(-1) as Said).text = part.text;
    },
  };
  const made = createAnswerParts(sink, () => `made_${ids++}`, secrets);
  const isWritten = choices.every((choice) => made.add(readChoice(choice).content));
  made.end(true);
  return { parts, isWritten };
}

const delta = (fields: object): object => ({ index: 0, delta: fields });
const call = (fields: object, more: object = {}): object => delta({ tool_calls: [{ function: fields, ...more }] });

for (const [what, choices] of Object.entries({
  "a delta": [delta({ content: "hello" })],
  "a message": [{ index: 0, message: { role: "assistant", content: "hello" } }],
  "a text beside the delta": [{ index: 0, delta: {}, text: "hello" }],
  "one part that is no list": [delta({ content: { type: "text", text: "hello" } })],
  "a list of parts": [delta({ content: [{ type: "text", text: "hel" }, "lo"] })],
})) {
  test(`the text of ${what} is written`, () => {
    assert.deepEqual(partsOf(choices), { parts: [{ kind: "text", text: "hello" }], isWritten: true });
  });
}

const twoCalls = [
  { kind: "call", id: "a", name: "read", text: '{"n":1}' },
  { kind: "call", id: "b", name: "read", text: '{"n":2}' },
];
for (const [what, choices] of Object.entries({
  "two ids under one index": [
    call({ name: "read", arguments: '{"n":1}' }, { index: 0, id: "a" }),
    call({ name: "read", arguments: "" }, { index: 0, id: "b" }),
    call({ arguments: '{"n":2}' }, { index: 0 }),
  ],
  "two ids without an index": [
    call({ name: "read", arguments: '{"n"' }, { id: "a" }),
    call({ arguments: ":1}" }),
    call({ name: "read", arguments: '{"n":2}' }, { id: "b" }),
  ],
  "a name in two pieces": [
    call({ name: "re" }, { index: 0, id: "a" }),
    call({ name: "ad", arguments: "" }, { index: 0 }),
    call({ arguments: '{"n":1}' }, { index: 0 }),
    call({ name: "read", arguments: '{"n":2}' }, { index: 1, id: "b" }),
  ],
  "a name that is repeated in each piece": [
    call({ name: "read", arguments: '{"n"' }, { index: 0, id: "a" }),
    call({ name: "read", arguments: ":1}" }, { index: 0, id: "a" }),
    call({ name: "read", arguments: '{"n":2}' }, { index: 1, id: "b" }),
  ],
  "an id that comes alone": [
    delta({ tool_calls: [{ index: 0, id: "a" }] }),
    call({ name: "read", arguments: '{"n":1}' }, { index: 0 }),
    call({ name: "read", arguments: '{"n":2}' }, { index: 1, id: "b" }),
  ],
  "a whole message": [
    {
      index: 0,
      message: {
        tool_calls: [
          { id: "a", function: { name: "read", arguments: { n: 1 } } },
          { id: "b", function: { name: "read", arguments: '{"n":2}' } },
        ],
      },
    },
  ],
})) {
  test(`two calls are two: ${what}`, () => {
    assert.deepEqual(partsOf(choices), { parts: twoCalls, isWritten: true });
  });
}

test("a call of the older API is a call, and one without a name or with a second one cannot be written", () => {
  const older = [delta({ function_call: { name: "read" } }), delta({ function_call: { arguments: "{}" } })];
  const part = { kind: "call", id: "made_0", name: "read", text: "{}" };
  assert.deepEqual(partsOf(older), { parts: [part], isWritten: true });
  for (const choices of [
    [call({ arguments: "{}" }, { index: 0, id: "a" })],
    [call({ name: "read", arguments: "{}" }, { index: 0, id: "a" }), call({ name: "x" }, { index: 0, id: "a" })],
  ]) {
    assert.equal(partsOf(choices).isWritten, false);
  }
});

test("a part that is whole has no key of ours in it, in however many pieces it came", () => {
  const key = "sk-4fZq81LmQ0x7Tr5Yw3Nb6Vc1Hj4GpX";
  const pieces = [key.slice(0, 5), key.slice(5, 20), key.slice(20)];
  const secrets = makeSecretFilter([key]);
  for (const field of ["content", "refusal", "reasoning_content"]) {
    const { parts } = partsOf(
      pieces.map((piece) => delta({ [field]: piece })),
      secrets,
    );
    assert.deepEqual(
      parts.map(({ text }) => text),
      ["[removed]"],
    );
  }
  const named = pieces.map((name) => call({ name }, { index: 0, id: "a" }));
  const given = ['{"a":"', ...pieces, '"}'].map((text) => call({ arguments: text }, { index: 0 }));
  assert.deepEqual(partsOf([...named, ...given], secrets).parts, [
    { kind: "call", id: "a", name: "[removed]", text: '{"a":"[removed]"}' },
  ]);
});

test("the work for calls that wait for an open one doubles with the answer", (t) => {
  /** The characters that were read: by a scan, and by each parse. */
  function workFor(size: number): number {
    const open = '{"text":"'.padEnd(64 * size, "x");
    const pieces = Array.from({ length: size }, () => call({ arguments: "} else {" }, { index: 1 }));
    const choices = [
      call({ name: "read", arguments: open }, { index: 0, id: "a" }),
      call({ name: "read", arguments: "{" }, { index: 1, id: "b" }),
      ...pieces,
    ];
    const stream = bytesOf(
      choices.map((choice) => event(deltaJson((choice as { delta: object }).delta))).join("") + DONE,
    );
    let work = 0;
    const { parse } = JSON;
    const { charCodeAt } = String.prototype;
    t.mock.method(JSON, "parse", (text: string) => {
      work += text.length;
      return parse(text);
    });
    t.mock.method(String.prototype, "charCodeAt", function (this: string, at: number) {
      work += 1;
      return charCodeAt.call(this, at);
    });
    try {
      written(createMessagesWriter("m", writerContext), [stream]);
    } finally {
      t.mock.restoreAll();
    }
    return work;
  }
  const [once, twice] = [workFor(100), workFor(200)];
  assert.ok(once > 64 * 100 && twice < 2.1 * once, `${once}, then ${twice}`);
});

test("content of 1,024 pieces is written, and content of more is not", () => {
  const message = (pieces: number) => ({ message: { content: Array(pieces).fill("a") } });
  assert.equal(partsOf([message(1_024)]).isWritten, true);
  assert.equal(partsOf([message(1_025)]).isWritten, false);
});

test("a call of any index is another one than the call of the older API", () => {
  const older = delta({ function_call: { name: "f", arguments: "{}" } });
  const { parts } = partsOf([delta({ function_call: { name: "f" } }), call({ name: "f" }, { index: -1 }), older]);
  assert.deepEqual(
    parts.map(({ name, text }) => [name, text]),
    [
      ["f", "{}"],
      ["f", "{}"],
    ],
  );
});
