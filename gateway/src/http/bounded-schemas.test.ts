import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { endpoints } from "../routes/all.ts";

/** Every list and map in a schema without a maximum, by its path. */
function unbounded(schema: z.core.$ZodType, path: string, seen = new Set<unknown>()): string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { def } = schema._zod as unknown as { def: { [field: string]: unknown; type: string } };
  const below = Object.entries(def).flatMap(([field, inner]) => innerSchemas(inner, `${path}.${field}`));
  const found = below.flatMap(([inner, innerPath]) => unbounded(inner, innerPath, seen));
  return isUnbounded(schema, def) ? [path, ...found] : found;
}

function isUnbounded(schema: z.core.$ZodType, { type, checks }: { [field: string]: unknown; type: string }): boolean {
  const sizes = z.core.util.sizeCaps(checks as z.core.$ZodCheck[] | undefined);
  if (type === "array" || type === "set") return sizes.length === 0;
  if (type === "record" || type === "map") return true;
  const about = z.globalRegistry.get(schema) as { type?: string; maxProperties?: number } | undefined;
  return about?.type === "object" && about.maxProperties === undefined;
}

function innerSchemas(value: unknown, path: string): [z.core.$ZodType, string][] {
  if (typeof value !== "object" || value === null) return [];
  if ("_zod" in value && "def" in (value._zod as object)) return [[value as z.core.$ZodType, path]];
  return Object.entries(value).flatMap(([key, inner]) => innerSchemas(inner, `${path}.${key}`));
}

test("every list and map that a client may send has a maximum", () => {
  const bodies = endpoints.filter(({ body }) => body !== undefined);
  assert.ok(bodies.length >= 5);
  for (const { path, body, query } of endpoints) {
    for (const schema of [body?.schema, query]) {
      if (schema !== undefined) assert.deepEqual(unbounded(schema, path), []);
    }
  }
});

test("a list or a map without a maximum is found wherever it is", () => {
  const bare = z.strictObject({
    a: z.union([z.string(), z.array(z.string())]).optional(),
    b: z.discriminatedUnion("t", [z.object({ t: z.literal(1), c: z.record(z.string(), z.unknown()).nullish() })]),
    d: z.array(z.array(z.string())).max(3),
  });
  assert.deepEqual(unbounded(bare, "x").length, 3);
});
