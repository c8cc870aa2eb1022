import type { JsonSchema } from "./openapi.ts";

/** One field of an object, as a reference lists it. */
export type Field = { name: string; type: string; required: boolean; about: string };

/** The fields of an object's schema. The fields of `data` replace it. A choice has the fields of each alternative. */
export function fieldsOf(schema: JsonSchema): Field[] {
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (choices !== undefined) return distinct(choices.flatMap(fieldsOf));
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const { items, description = "" } = field;
    const inner = name === "data" ? fieldsOf((items ?? field) as JsonSchema) : [];
    if (inner.length === 0) {
      return [{ name, type: typeText(field), required: required.includes(name), about: String(description) }];
    }
    return inner.map((each) => ({ ...each, name: `data${items === undefined ? "" : "[]"}.${each.name}` }));
  });
}

/** Each name once, with its first description. */
function distinct(fields: readonly Field[]): Field[] {
  return fields.filter(({ name }, index) => fields.findIndex((field) => field.name === name) === index);
}

/** A schema's type in a few words: `integer, 1 to 8`, `"low" or "high"`, `array of object`. */
export function typeText(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return either(schema.enum.map((value) => JSON.stringify(value)));
  const choices = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (choices !== undefined) return either([...new Set(choices.map(typeText))]);
  if (schema.type === "array") return `array of ${typeText((schema.items ?? {}) as JsonSchema)}`;
  if (Array.isArray(schema.type)) return either(schema.type.map((type) => typeText({ ...schema, type })));
  const type = typeof schema.type === "string" ? schema.type : "any";
  return `${type}${bounds(schema)}`;
}

function bounds({ type, minimum, maximum, maxLength, format }: JsonSchema): string {
  if (type === "string") {
    if (typeof format === "string") return `, ${format}`;
    return maxLength === undefined ? "" : `, at most ${String(maxLength)} characters`;
  }
  const [least, most] = [bound(minimum), bound(maximum)];
  if (least === undefined) return most === undefined ? "" : `, at most ${most}`;
  return most === undefined ? (least === 0 ? "" : `, at least ${least}`) : `, ${least} to ${most}`;
}

/** Undefined for the largest safe integer, which is not a bound for readers. */
function bound(value: unknown): number | undefined {
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}

function either(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
