import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { fieldsOf, typeText } from "./schema-text.ts";

const text = (schema: z.ZodType): string => typeText(z.toJSONSchema(schema, { io: "input" }));

const cases: [schema: z.ZodType, text: string][] = [
  [z.string(), "string"],
  [z.string().max(5), "string, at most 5 characters"],
  [z.iso.date(), "string, date"],
  [z.int(), "integer"],
  [z.int().min(1), "integer, at least 1"],
  [z.int().min(1).max(8), "integer, 1 to 8"],
  [z.number().min(0), "number"],
  [z.enum(["low", "high"]), '"low" or "high"'],
  [z.literal(1), "1"],
  [z.union([z.string(), z.array(z.int())]), "string or array of integer"],
  [z.string().nullable(), "string or null"],
  [z.unknown(), "any"],
];
for (const [schema, expected] of cases) {
  test(`${expected}`, () => assert.equal(text(schema), expected));
}

test("the fields of a choice of objects are those of each, once", () => {
  const schema = z.union([
    z.object({ a: z.string(), b: z.int().optional() }),
    z.object({ a: z.int(), c: z.boolean() }),
  ]);
  const fields = fieldsOf(z.toJSONSchema(schema)).map(({ name, type, required }) => [name, type, required]);
  assert.deepEqual(fields, [
    ["a", "string", true],
    ["b", "integer", false],
    ["c", "boolean", true],
  ]);
});
