import * as z from "zod";
import { list } from "./json.ts";

/**
 * Fields that several bodies have. Amounts are JSON numbers in dollars, printed exactly, each with the integer in
 * nano-dollars beside it.
 */
export const usd = z.number().min(0).describe("US dollars.");
export const nanoUsd = z.int().min(0).describe("Nano-dollars, 1e-9 USD.");
const anyNanoUsd = z.number().min(0).describe("Nano-dollars, 1e-9 USD; written exactly, also past 2^53.");
/** The fields of amounts: each in dollars under its name, and in nano-dollars under `<name>_nano_usd`. */
const fields =
  <D extends z.ZodType, N extends z.ZodType>(dollars: D, nano: N) =>
  <const K extends string>(...names: K[]) =>
    Object.fromEntries(names.flatMap((name) => [[name, dollars] as const, [`${name}_nano_usd`, nano] as const])) as {
      [Name in K]: D;
    } & { [Name in `${K}_nano_usd`]: N };
export const amounts = fields(usd, nanoUsd);
export const amountsOrNull = fields(usd.nullable(), nanoUsd.nullable());
export const anyAmounts = fields(usd, anyNanoUsd);
export const anyAmountsOrNull = fields(usd.nullable(), anyNanoUsd.nullable());
export const time = z.iso.datetime();
export const count = z.int().min(0);
/** The most models of one request. */
export const MAX_MODELS = 5;
/** Further models of a chat request. */
export const models = list(z.string().min(1), MAX_MODELS)
  .optional()
  .describe(
    "Further models, in order: the next one is asked if a model cannot serve the request. `model` is the first.",
  );
/** A mark of a usage in an answer. */
export const estimated = z
  .literal(true)
  .optional()
  .describe("The provider reported no valid usage, so the counts and the charge are an estimate.");
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/);
/** The bytes of a signature, of a wallet's own key or in a contract wallet's format. */
export const signature = z
  .custom<`0x${string}`>(
    (value) => typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value),
    "expected the signature's bytes in hex, beginning with 0x",
  )
  .meta({ type: "string", pattern: "^0x([0-9a-fA-F]{2})*$" });
