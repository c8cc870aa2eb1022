import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { refused } from "../../../test/models.ts";
import { MAX_DEPTH, MAX_VALUES, parseJsonBody } from "./parse-json-body.ts";

const parse = (text: string) => parseJsonBody(Buffer.from(text));

test("a body is the object that its text says", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4 })),
      fc.nat(3),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        assert.deepEqual(parse(text), JSON.parse(text));
      },
    ),
  );
});

test("text that is no JSON, and JSON that is no object, are refused with what to send", () => {
  for (const text of ["", "{", '{"a":1}x', "{'a':1}", "\u0000"]) {
    assert.match(
      refused(() => parse(text), "invalid_request", null),
      /not valid JSON/,
    );
  }
  for (const text of ["[]", "null", "5", '"x"']) {
    assert.match(
      refused(() => parse(text), "invalid_request", null),
      /must be a JSON object/,
    );
  }
});

test("a key that is in one object twice is refused by name, wherever it is and however it is written", () => {
  const bodies = [
    '{"model":"cheap","model":"dear"}',
    '{"messages":[{"model":1},{"a":{"model":1, "b":[{}], "model":2}}]}',
    '{"mo\\u0064el":1,"model":2}',
    '{"a":"\\\\","model":"\\"","b":"}","model":1}',
    '{ "model" : {"model":1} , "x":[1,"model"], "model":2}',
  ];
  for (const body of bodies) refused(() => parse(body), "invalid_request", "model");
});

test("one key in several objects, and strings that look like keys, are no duplicates", () => {
  const body = '{"a":{"a":1},"b":[{"a":1},{"a":2},"a","a"],"c":"\\",\\"a\\":1","d":{"a":[]}}';
  assert.deepEqual(parse(body), JSON.parse(body));
});

test("a key is found twice in any object in which it is", () => {
  const cases = fc.tuple(
    fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 20 }),
    fc.nat(),
  );
  fc.assert(
    fc.property(cases, ([keys, pick]) => {
      const twice = keys[pick % keys.length] ?? "";
      const members = [...keys, twice].map((key) => `${JSON.stringify(key)}:${JSON.stringify(key)}`);
      refused(() => parse(`{"x":[{${members.join(",")}}]}`), "invalid_request", twice);
    }),
  );
});

test("nesting is limited, also to a depth at which a parser would fail", () => {
  const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  assert.ok(parse(nested(MAX_DEPTH)));
  for (const depth of [MAX_DEPTH + 1, 100_000]) refused(() => parse(nested(depth)), "invalid_request", null);
});

test("a million keys and keys of the prototype do no harm", () => {
  const many = Array.from({ length: 1_000_000 }, (_, index) => `"${index}":1`).join(",");
  refused(() => parse(`{${many}}`), "invalid_request", null);
  const body = parse('{"__proto__":{"admin":true},"constructor":1}');
  assert.equal(Object.getPrototypeOf(body), Object.prototype);
  assert.deepEqual(Object.keys(body), ["__proto__", "constructor"]);
});

test("a number is read as it is written, and one that is too large to be one is refused", () => {
  const long = "9".repeat(309);
  for (const good of ["1e308", "-1.7976931348623157E+308", "1e-999", "0.5", "-7", "1".repeat(308), "0.1e+1"]) {
    assert.deepEqual(parse(`{"a":[${good},1],"b":${good}}`), { a: [Number(good), 1], b: Number(good) });
  }
  for (const bad of ["1e999", "-1e999", "1E309", "1.8e+308", long, `-${long}.5`]) {
    for (const text of [`{"a":${bad}}`, `{"a":[true,${bad}]}`, `{"a":1,"b":{"c":${bad} }}`]) {
      refused(() => parse(text), "invalid_request", text.includes('"c"') ? "c" : "a");
    }
  }
  assert.deepEqual(parse('{"a":"1e999","1e999":false}'), { a: "1e999", "1e999": false });
});

test("a body of more values than a validator should look at is refused, lists and objects and what is in them", () => {
  const list = (item: string, count: number) => `{"a":[${Array(count).fill(item).join(",")}]}`;
  // The object and the list are values too, and so is each empty object, which stands at a comma.
  assert.ok(parse(list("0", MAX_VALUES - 2)));
  refused(() => parse(list("0", MAX_VALUES - 1)), "invalid_request", null);
  assert.ok(parse(list("{}", MAX_VALUES / 2 - 1)));
  refused(() => parse(list("{}", MAX_VALUES / 2 + 1)), "invalid_request", null);
});

test("bytes that are not UTF-8 are refused, and a byte order mark is taken at the very beginning alone", () => {
  const bytes = Buffer.from('{"a":"\u00e9"}', "latin1");
  assert.match(
    refused(() => parseJsonBody(bytes), "invalid_request", null),
    /not valid UTF-8/,
  );
  assert.deepEqual(parse('\ufeff {"a":1}'), { a: 1 });
  for (const text of [' \ufeff{"a":1}', '{"a":1}\ufeff']) refused(() => parse(text), "invalid_request", null);
});

test("what is no JSON is refused, and no other error is thrown, whatever byte is changed, added or left out", () => {
  const change = fc.tuple(fc.nat(), fc.constantFrom("set", "add", "drop"), fc.integer({ min: 0, max: 255 }));
  const value = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(value, change, (body, [place, kind, byte]) => {
      const bytes = [...Buffer.from(JSON.stringify(body))];
      bytes.splice(place % bytes.length, kind === "add" ? 0 : 1, ...(kind === "drop" ? [] : [byte]));
      const changed = Buffer.from(bytes);
      let parsed: unknown;
      try {
        parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(changed));
      } catch {
        refused(() => parseJsonBody(changed), "invalid_request", null);
        return;
      }
      try {
        assert.deepEqual(parseJsonBody(changed), parsed);
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error));
        assert.match(error.message, /twice|must be a JSON object|too large/);
      }
    }),
    { numRuns: runs(333) },
  );
});
