/** Reads the fields of a JSON object and collects all errors instead of throwing at the first. */
import { type Address, getAddress, isAddress } from "viem";

export interface JsonReader {
  has(name: string): boolean;
  text(name: string): string;
  /** A non-negative integer; `absent` if the field is missing. */
  count(name: string, absent?: number): number;
  /** An amount too large for a JSON number: a string of decimal digits. */
  amount(name: string): bigint;
  address(name: string): Address;
  url(name: string): string;
  list<T>(name: string, read: (reader: JsonReader, name: string) => T): T[];
  /** The values of an object, by their names. */
  record<T>(name: string, read: (reader: JsonReader, name: string) => T): Record<string, T>;
  inside<T>(name: string, read: (reader: JsonReader) => T): T;
  /** Same as {@link inside}, or undefined if the field is missing. */
  optional<T>(name: string, read: (reader: JsonReader) => T): T | undefined;
}

/** @param wrong receives a sentence for each field that is missing, unknown or invalid */
export function readJson<T>(value: unknown, wrong: string[], read: (reader: JsonReader) => T): T {
  return readFields(value, "", wrong, read);
}

function readFields<T>(value: unknown, prefix: string, wrong: string[], read: (reader: JsonReader) => T): T {
  const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const known = new Set<string>();
  const result = read(createReader(fields, { prefix, wrong, known }));
  for (const name of Object.keys(fields)) if (!known.has(name)) wrong.push(`${prefix}${name} is unknown.`);
  return result;
}

type Context = { prefix: string; wrong: string[]; known: Set<string> };

function createReader(fields: Record<string, unknown>, { prefix, wrong, known }: Context): JsonReader {
  const take = (name: string): unknown => {
    known.add(name);
    return fields[name];
  };
  const field = <T>(name: string, must: string, parse: (value: unknown) => T | undefined, instead: T): T => {
    const parsed = parse(take(name));
    if (parsed === undefined) wrong.push(`${prefix}${name} must be ${must}.`);
    return parsed ?? instead;
  };
  const asObject = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  const reader: JsonReader = {
    has: (name) => fields[name] !== undefined,
    text: (name) => field(name, "a text", (value) => (typeof value === "string" && value ? value : undefined), ""),
    count: (name, absent) => field(name, "a whole number, not below zero", (value) => asCount(value ?? absent), 0),
    amount: (name) =>
      field(name, "a whole number in a text", (value) => (isDigits(value) ? BigInt(value) : undefined), 0n),
    address: (name) =>
      field(
        name,
        "an address",
        (value) => (typeof value === "string" && isAddress(value) ? getAddress(value) : undefined),
        "0x",
      ),
    url: (name) => field(name, "an http(s) URL", (value) => (isHttpUrl(value) ? value : undefined), ""),
    list(name, read) {
      const list = field(name, "a list", (value) => (Array.isArray(value) ? (value as unknown[]) : undefined), []);
      return readFields(list, `${prefix}${name}.`, wrong, (inner) =>
        list.map((_, index) => read(inner, String(index))),
      );
    },
    record(name, read) {
      const object = field<object>(name, "an object", asObject, {});
      return readFields(object, `${prefix}${name}.`, wrong, (inner) =>
        Object.fromEntries(Object.keys(object).map((key) => [key, read(inner, key)])),
      );
    },
    inside: (name, read) =>
      readFields(field<object>(name, "an object", asObject, {}), `${prefix}${name}.`, wrong, read),
    optional: (name, read) => (take(name) === undefined ? undefined : reader.inside(name, read)),
  };
  return reader;
}

function asCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function isDigits(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,78}$/.test(value);
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === "string" && /^https?:$/.test(URL.parse(value)?.protocol ?? "");
}
