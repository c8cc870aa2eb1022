import { schemaError, unrecognizedKeys, WireError } from "./errors.ts";

/** Says what is wrong with a value, or null. */
export type Check = (value: unknown) => string | null;
export type Schema = ReadonlyMap<string, Check>;
export type Body = Readonly<Record<string, unknown>>;

export const anything: Check = () => null;
export const flag: Check = (value) => (typeof value === "boolean" ? null : expected("boolean", value));
export const string: Check = (value) => (typeof value === "string" ? null : expected("string", value));
export const object: Check = (value) => (isObject(value) ? null : expected("object", value));
export const list: Check = (value) => (Array.isArray(value) ? null : expected("array", value));

export function textOf(min: number, max: number): Check {
  return (value) => {
    if (typeof value !== "string") return expected("string", value);
    if (value.length < min) return `String must contain at least ${min} character(s)`;
    return value.length > max ? `String must contain at most ${max} character(s)` : null;
  };
}

export function number(min: number, max: number): Check {
  return (value) => {
    if (typeof value !== "number") return expected("number", value);
    if (value < min) return `Number must be greater than or equal to ${min}`;
    return value > max ? `Number must be less than or equal to ${max}` : null;
  };
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  const inRange = number(min, max);
  return (value) => inRange(value) ?? (Number.isSafeInteger(value) ? null : "Expected integer, received float");
}

export function oneOf(...allowed: string[]): Check {
  return (value) =>
    typeof value === "string" && allowed.includes(value)
      ? null
      : `Invalid enum value. Expected ${allowed.map((name) => `'${name}'`).join(" | ")}, received ${JSON.stringify(value)}`;
}

export function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function expected(type: string, value: unknown): string {
  if (value === undefined) return "Required";
  const received = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return `Expected ${type}, received ${received}`;
}

/** Refuses a body with a field that is not in the schema, lacks a required one, or has a wrong value. */
export function checkBody(body: Body, schema: Schema, required: readonly string[]): void {
  let unknown: string[] | null = null;
  for (const name of Object.keys(body)) {
    if (!schema.has(name)) unknown = [...(unknown ?? []), name];
  }
  if (unknown !== null) throw new WireError(unrecognizedKeys(unknown));
  for (const name of required) {
    if (body[name] === undefined) throw new WireError(schemaError(name, "Required", "invalid_type"));
  }
  for (const name of Object.keys(body)) {
    const problem = schema.get(name)?.(body[name]) ?? null;
    if (problem !== null) throw new WireError(schemaError(name, problem));
  }
}

export function parseJsonObject(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new WireError(schemaError(null, "Request body is not valid JSON", "invalid_json"));
  }
  if (!isObject(value)) throw new WireError(schemaError(null, expected("object", value), "invalid_type"));
  return value;
}

export function stringField(body: Body, name: string): string | null {
  const value = body[name];
  return typeof value === "string" ? value : null;
}

export function numberField(body: Body, name: string): number | null {
  const value = body[name];
  return typeof value === "number" ? value : null;
}
