import * as z from "zod";
import { address, time } from "./fields.ts";

/** The text to sign for a key. */
export const keyMessageAnswer = z.strictObject({
  data: z.strictObject({
    message: z.string().describe("Sign exactly this text (`personal_sign`)."),
    address,
    chain_id: z.int(),
    nonce: z.string(),
    resource: z.string().describe("Its last line: the terms that the key will have."),
    issued_at: time,
    valid_until: time.describe("Until when `POST /api/v1/keys` takes it."),
  }),
});
