/** The fields of JSON files that programs read: a schema of each, and a sentence for each error. */
import { type Address, getAddress, type Hex, isAddress } from "viem";
import * as z from "zod";

export const text = z.custom<string>((value) => typeof value === "string" && value !== "", "a text");
/** A non-negative integer. */
export const count = z.custom<number>(
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  "a whole number, not below zero",
);
/** An amount too large for a JSON number: a string of decimal digits. */
export const amount = z
  .custom<string>((value) => typeof value === "string" && /^\d{1,78}$/.test(value), "a whole number in a text")
  .transform(BigInt);
export const address = z
  .custom<Address>((value) => typeof value === "string" && isAddress(value), "an address")
  .transform((value) => getAddress(value));
/** 32 bytes, not all zero. */
export const key = z.custom<Hex>(
  (value) => typeof value === "string" && /^0x(?!0+$)[\da-f]{64}$/.test(value),
  "a key: 0x and 64 lower-case hexadecimal digits, not all zero",
);
export const url = z.custom<string>(
  (value) => typeof value === "string" && /^https?:$/.test(URL.parse(value)?.protocol ?? ""),
  "an http(s) URL",
);

/** An object with these fields and no others. */
export function fields<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, "an object");
}

export function listOf<T extends z.ZodType>(each: T): z.ZodReadonly<z.ZodArray<T>> {
  return z.array(each, "a list").readonly();
}

/** The values of an object, by their names. */
export function recordOf<T extends z.ZodType>(each: T): z.ZodRecord<z.ZodString, T> {
  return z.record(z.string(), each, "an object");
}

/** A sentence for each field that is missing, unknown or invalid. The schemas' messages name the type. */
export function sentencesOf({ issues }: z.ZodError): string[] {
  return issues.flatMap((issue) => {
    const nameOf = (...rest: string[]): string => [...issue.path, ...rest].join(".") || "The file";
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => `${nameOf(key)} is unknown.`);
    return [`${nameOf()} must be ${issue.message}.`];
  });
}
