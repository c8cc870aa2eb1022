import { type Address, isAddress } from "@inference/protocol/credential";
import { parseUsd } from "@inference/protocol/money";
import * as z from "zod";
import { asObject, parseJson } from "./json-object.ts";

/** The values that a setting may hold. */
export const json = (what: string) =>
  z.string().transform((text, context) => {
    const value = asObject(parseJson(text));
    if (value !== undefined) return value;
    context.addIssue(`must be a JSON object: ${what}`);
    return z.NEVER;
  });
export const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
  .transform((text) => text.replace(/\/+$/, ""));
export const address = z.custom<Address>((text) => typeof text === "string" && isAddress(text), "must be a 0x address");
/** A setting that is a whole number. */
export const whole = (most: number, least = 0) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= least, `must be at least ${least}`)
    .refine((value) => value <= most, `must be at most ${most}`);
/** A setting that is an amount of dollars. */
export const usd = z
  .string()
  .refine((text) => parseUsd(text) !== undefined, "must be an amount in dollars, such as 0.01");
export const chainIdList = z
  .string()
  .regex(/^\d{1,15}(, *\d{1,15}){0,15}$/, "must be at most 16 chain ids, separated by commas")
  .transform((text) => text.split(",").map(Number));
export const anchor = z
  .string()
  .regex(/^\d{1,15}:0x[0-9a-fA-F]{64}$/, "must be a block number and its hash, `17000000:0x...`")
  .transform((text) => {
    const [block = "", hash = ""] = text.split(":");
    return { block: Number(block), hash };
  });

/** The declaration of a setting: its name, its sentences for the docs, and a schema with its default. */
export const setting = <const Name extends string, Schema extends z.ZodType>(
  name: Name,
  about: string,
  schema: Schema,
) => ({ name, schema: schema.describe(about) });
type Group = Readonly<Record<string, { name: string; schema: z.ZodType }>>;

/** The values of a group of settings, by the fields of the configuration. */
export type ValuesOf<G extends Group> = { -readonly [Field in keyof G]: z.infer<G[Field]["schema"]> };

type ShapeOf<G extends Group> = { [Field in keyof G as G[Field]["name"]]: G[Field]["schema"] };

/** The schemas of a group, by the names of its settings. */
export function shapeOf<G extends Group>(group: G): ShapeOf<G> {
  return Object.fromEntries(Object.values(group).map(({ name, schema }) => [name, schema])) as ShapeOf<G>;
}

/** Takes a group's values from parsed settings. */
export function valuesOf<G extends Group>(group: G, settings: z.infer<z.ZodObject<ShapeOf<G>>>): ValuesOf<G> {
  const named: Readonly<Record<string, unknown>> = settings;
  return Object.fromEntries(Object.entries(group).map(([field, { name }]) => [field, named[name]])) as ValuesOf<G>;
}
