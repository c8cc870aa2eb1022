import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { chatRequest } from "./chat.ts";
import { jsonObject, list } from "./json.ts";

const three = list(z.object({ a: z.number().default(1) }), 3).min(1);

test("a list is what its elements come to, in a new array", () => {
  const given = [{ a: 5 }, {}];
  assert.deepEqual(three.parse(given), [{ a: 5 }, { a: 1 }]);
  assert.deepEqual(given, [{ a: 5 }, {}]);
});

test("a list that is too long, too short or none is refused as zod's own array is", () => {
  const own = z
    .array(z.object({ a: z.number().default(1) }))
    .max(3)
    .min(1);
  for (const value of [[{}, {}, {}, {}], [], "a", null, { length: 2 }, [{}, { a: "b" }]]) {
    assert.deepEqual(three.safeParse(value).error?.issues, own.safeParse(value).error?.issues, JSON.stringify(value));
  }
});

test("no element is looked at in a list that is too long, nor after one that is bad", () => {
  let looked = 0;
  const counted = list(
    z.custom((value) => {
      looked += 1;
      return value === 1;
    }),
    5,
  );
  assert.equal(counted.safeParse(Array(1_000).fill(1)).success, false);
  assert.equal(looked, 0);
  const { error } = counted.safeParse([1, 2, 3, 4]);
  assert.deepEqual([looked, error?.issues.map(({ path }) => path)], [2, [[1]]]);
});

test("the documentation still sees an array with its maximum", () => {
  assert.deepEqual(z.toJSONSchema(list(z.string(), 7)), {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "array",
    items: { type: "string" },
    maxItems: 7,
  });
});

test("30,000 numbers for a message's content are one issue, not 30,000", () => {
  const body = { model: "m", messages: [{ role: "user", content: Array(30_000).fill(1) }] };
  const issues = chatRequest.safeParse(body).error?.issues ?? [];
  assert.ok(JSON.stringify(issues).length < 2_000);
});

test("an object of any content has at most 1,024 fields, and is passed on as it came", () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
  assert.ok(jsonObject.safeParse(fields(1_024)).success);
  assert.equal(jsonObject.safeParse(fields(1_025)).success, false);
  for (const other of [[], null, "a", 1]) assert.equal(jsonObject.safeParse(other).success, false);
});
