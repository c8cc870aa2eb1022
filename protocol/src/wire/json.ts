import * as z from "zod";

export type Shape = Record<string, z.ZodType>;

/**
 * A list with a maximum length. The length is checked first, and checking stops at the first invalid element. zod's own
 * array reports each one, so a client could cause much work at no cost.
 */
export function list<T extends z.ZodType>(element: T, maxItems: number): z.ZodArray<T> {
  return (new BoundedArray({ type: "array", element }) as unknown as z.ZodArray<T>).max(maxItems);
}

/** Has its own name and type because TypeScript requires that of an assertion. */
const initArray: (inst: z.ZodArray, def: z.core.$ZodArrayDef) => void = z.ZodArray.init;

const BoundedArray = z.core.$constructor<z.ZodArray>("BoundedArray", (inst, def) => {
  initArray(inst, def);
  const maxItems = Math.min(...z.core.util.sizeCaps(def.checks).map(([maximum]) => maximum));
  inst._zod.parse = (payload, context) => {
    const input: unknown = payload.value;
    if (!Array.isArray(input)) {
      payload.issues.push({ code: "invalid_type", expected: "array", input, inst });
      return payload;
    }
    // Too long: the check of the length, which follows, reports it.
    if (input.length > maxItems) return payload;
    const elements: unknown[] = [];
    for (const [index, item] of input.entries()) {
      const result = def.element._zod.run({ value: item, issues: [] }, context);
      if (result instanceof Promise) throw new z.core.$ZodAsyncError();
      if (result.issues.length > 0) {
        payload.issues.push(...z.core.util.prefixIssues(index, result.issues));
        return payload;
      }
      elements.push(result.value);
    }
    payload.value = elements;
    return payload;
  };
});

/** A JSON schema has a few dozen keywords. */
const MAX_FIELDS = 1024;

/** An object with any content, such as a JSON schema. The parser of bodies bounds its contents. */
export const jsonObject = z
  .custom<Record<string, unknown>>(isSmallObject, `expected an object of at most ${MAX_FIELDS} fields`)
  .meta({ type: "object", additionalProperties: true, maxProperties: MAX_FIELDS });

function isSmallObject(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length <= MAX_FIELDS
  );
}
