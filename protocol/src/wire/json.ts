import * as z from "zod";

/** An object of any content, as in a JSON schema. */
export const jsonObject = z.record(z.string(), z.unknown());

export type Shape = Record<string, z.ZodType>;
