import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import fc from "fast-check";
import { context } from "../../../test/models.ts";
import { complete } from "../../limits/sliced-work.ts";
import { parseChatOrder } from "./chat.ts";
import type { TokenOrder } from "./chat-order.ts";
import { parseWithMessages } from "./parse-json-body.ts";

/**
 * The provider reads of a body with spliced messages what it would read of one that was written anew, and the request
 * costs the same.
 */
const NUM_RUNS = process.env.DEEP === "1" ? 100_000 : 2_000;

/** A value with the digits of its numbers, which a double may not have. */
function readExactly(json: string): unknown {
  type WithSource = (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown;
  return (JSON.parse as WithSource)(json, (_, value, { source }) =>
    typeof value === "number" ? { digits: source } : value,
  );
}

type Read = { spliced: boolean; json: string; order: Omit<TokenOrder, "upstreamBody" | "quote">; max: number };

function read(text: string, splices: boolean): Read | { code: string } {
  try {
    const bytes = Buffer.from(text);
    const { value, messages } = complete(parseWithMessages(bytes.toString(), bytes));
    const parsed = complete(parseChatOrder(value, { ...context, messages: splices ? messages : null }));
    const { upstreamBody, quote, ...order } = parsed;
    const spliced = typeof upstreamBody !== "string";
    const json = spliced ? Buffer.concat(upstreamBody).toString() : upstreamBody;
    return { spliced, json, order, max: quote.maxNanoUsd };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.detail.code };
  }
}

/** Whether the messages were spliced; undefined if the request was refused. Asserts that this made no difference. */
function compare(text: string): boolean | undefined {
  const [one, other] = [read(text, true), read(text, false)];
  if ("code" in one || "code" in other) {
    assert.deepEqual(one, other);
    return undefined;
  }
  assert.deepEqual(readExactly(one.json), readExactly(other.json));
  assert.deepEqual(
    [one.order, one.max, Buffer.byteLength(one.json)],
    [other.order, other.max, Buffer.byteLength(other.json)],
  );
  assert.ok(!other.spliced);
  return one.spliced;
}

const character = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom("a", " ", "é", "漢", "👋", "\u2028", "\u007f", "{", ",", ":", "]", "/") },
  { weight: 6, arbitrary: fc.constantFrom('\\"', "\\\\", "\\n", "\\b", "\\t", "\\\\u0041", "\\\\/") },
  { weight: 1, arbitrary: fc.constantFrom("\\u0041", "\\/", "\\ud83d", "\\ud83d\\udc4b", "\\u0000", "\ufeff") },
);
const literal = fc.array(character, { maxLength: 12 }).map((characters) => `"${characters.join("")}"`);
/** How a client's JSON writer puts things beside each other: mostly without white space. */
const space = fc.oneof(
  { weight: 40, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom(" ", "\n\t") },
);
const number = fc.constantFrom("1", "-0", "1e400", "1.0", "12345678901234567890", "0.1", "1E2", "1e-400");
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    literal,
    fc.constantFrom("true", "null", "[]", "{}"),
    { weight: 1, arbitrary: number },
    fc.array(tie("json"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(literal, tie("json")), { maxLength: 3 })
      .map((all) => `{${all.map((pair) => pair.join(":")).join(",")}}`),
  ),
}));

type Member = [name: string, value: string];
const written = (members: readonly Member[], gap: string): string =>
  `{${gap}${members.map(([name, value]) => `${gap}"${name}":${gap}${value}`).join(`,${gap}`)}${gap}}`;

const part = fc.oneof(
  literal.map((text): string => `{"type":"text","text":${text}}`),
  literal.map((text) => `{"text":${text},"type":"text","more":1}`),
);
const content = fc.oneof(
  { weight: 4, arbitrary: literal },
  { weight: 2, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `[${parts.join(",")}]`) },
  { weight: 1, arbitrary: fc.constantFrom("null", "[]", "7") },
);
const call = fc
  .tuple(literal, fc.boolean())
  .map(
    ([text, isExtra]) =>
      `{"id":"c","type":"function","function":{"name":"f","arguments":${text}}${isExtra ? ',"index":0' : ""}}`,
  );
const role = fc.constantFrom('"user"', '"user"', '"system"', '"assistant"', '"tool"', '"\\u0075ser"');
/** Members that the gateway drops, keeps as they are, or refuses. */
const odd: fc.Arbitrary<Member> = fc.oneof(
  fc.constantFrom<Member>(
    ["name", '"n"'],
    ["tool_call_id", '"c"'],
    ["__proto__", '{"role":"system"}'],
    ["cache_control", "null"],
    ["refusal", "null"],
    ["content", '"twice"'],
    ["c\\u006fntent", '"twice"'],
    ["constructor", "null"],
    ["reasoning_content", '"because"'],
  ),
  fc.tuple(fc.constantFrom("toJSON", "own"), json),
  json.map((value): Member => ["extra_content", `{"google":{"n":${value}}}`]),
  number.map((value): Member => ["extra_content", `{"google":{"n":${value}}}`]),
  json.map((value): Member => ["reasoning_details", `[{"type":"reasoning.text","text":${value}}]`]),
  call.map((text): Member => ["tool_calls", `[${text}]`]),
);
const message = fc
  .tuple(role, content, fc.option(odd, { freq: 3 }), fc.boolean(), space)
  .map(([roleText, contentText, more, isFirst, gap]) => {
    const members: Member[] = [["role", roleText], ["content", contentText], ...(more === null ? [] : [more])];
    return written(isFirst ? members : members.reverse(), gap);
  });
const messagesName = fc.oneof(
  { weight: 20, arbitrary: fc.constant("messages") },
  { weight: 1, arbitrary: fc.constantFrom("m\\u0065ssages", "messages ") },
);
const body = fc
  .record({
    name: messagesName,
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    gap: space,
    others: fc.subarray<Member>([
      ["max_tokens", "20"],
      ["metadata", '{"messages":[{"role":"user","content":"not these"}]}'],
      ["stop", '["messages","]"]'],
      ["temperature", "1.0"],
      ["stream", "true"],
      ["user", '"me"'],
    ]),
    at: fc.nat(6),
    isTwice: fc.oneof({ weight: 20, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  })
  .map(({ name, messages, gap, others, at, isTwice }) => {
    const members: Member[] = [["model", '"text-1"'], ...others];
    const list = `[${gap}${messages.join(`,${gap}`)}${gap}]`;
    members.splice(at, 0, [name, list]);
    if (isTwice) members.push(["messages", "[]"]);
    return written(members, gap);
  });

test("the provider reads the same value, digit by digit, and the request costs the same", () => {
  const seen = { spliced: 0, anew: 0, refused: 0 };
  fc.assert(
    fc.property(body, (text) => {
      const spliced = compare(text);
      seen[spliced === undefined ? "refused" : spliced ? "spliced" : "anew"] += 1;
    }),
    { numRuns: NUM_RUNS },
  );
  // About 70 of 2,000 are spliced; below 20 is more than five standard deviations away.
  for (const [name, times] of Object.entries(seen)) {
    assert.ok(times > NUM_RUNS / 100, `${name}: ${JSON.stringify(seen)}`);
  }
});

test("usual messages are sent as they came, and what would be read as another value is written anew", () => {
  const of = (messages: string): string => `{"model":"text-1","max_tokens":5,"messages":${messages}}`;
  const said = (text: string, more = ""): string => of(`[{"role":"user","content":"${text}"${more}}]`);
  const cases: [text: string, spliced: boolean | undefined][] = [
    [said('hello\\n \\"quoted\\" \\\\ é 漢 👋 , : ] }'), true],
    [of('[{"content":"order","role":"user"},{"role":"assistant","content":"yes"}]'), true],
    ['{"messages":[{"role":"user","content":"first"}],"model":"text-1"}', true],
    [said("an escape that has a shorter form: \\u0041"), false],
    [said("a lone surrogate: \\ud83d"), false],
    [said("a slash: \\/"), false],
    [of('[ {"role":"user","content":"white space"}]'), false],
    [of('[{"role":"user","content":"white space"}] '), false],
    [of(' [{"role":"user","content":"white space"}]'), false],
    [said("a member that is dropped", ',"own":1'), false],
    [said("a prototype", ',"__proto__":{"role":"system"}'), false],
    [of('[{"role":"assistant","content":"a","extra_content":{"google":{"n":12345678901234567890}}}]'), false],
    [of('[{"role":"assistant","content":"a","extra_content":{"google":{"n":-0}}}]'), false],
    [of('[{"role":"assistant","content":"a","extra_content":{"google":{"n":1e400}}}]'), undefined],
    [said("twice", ',"role":"system"'), undefined],
    [`{"model":"text-1","messages":[{"role":"user","content":"a"}],"mess\\u0061ges":[]}`, undefined],
    [of(`${"[".repeat(40)}${"]".repeat(40)}`), undefined],
  ];
  for (const [text, spliced] of cases) assert.equal(compare(text), spliced, text);
});
