import * as z from "zod";
import { MAX_OFFER_DAY, MAX_SHARE_BPS, STANDING_DAY } from "../offer.ts";
import { address, amounts, amountsOrNull, hash, signature, time } from "./fields.ts";

/** The bodies and the answer of `/api/v1/agents/{token}/offer`. */
const terms = {
  day: z
    .int()
    .min(STANDING_DAY)
    .max(MAX_OFFER_DAY)
    .describe("The UTC day on which it is in force, in days since 1970. 0: every day, until it is withdrawn."),
  nonce: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .describe("Higher than that of each earlier offer of the agent, by at most 1048576 (2^20)."),
  signature: signature.describe("The computer's signature over the typed data `Offer` (EIP-712)."),
};
const share = z.int().min(1).max(MAX_SHARE_BPS).describe("The share of its capacity that it sells, in basis points.");

export const offerBody = z.strictObject({ ...terms, share_bps: share });
export const withdrawalBody = z.strictObject({
  ...terms,
  share_bps: z.literal(0).describe("A signed share of 0 withdraws the offer."),
});

export const offerAnswer = z.strictObject({
  data: z.strictObject({
    agent_token: address,
    offer: z
      .strictObject({
        hash: hash.describe("Of the typed data. It is in each use that the offer serves, and in the use's leaf."),
        day: terms.day,
        share_bps: share,
        nonce: terms.nonce,
        since: time.describe("When the gateway accepted it."),
      })
      .nullable()
      .describe("The offer in force. Null: there is none, or it has ended."),
    next_nonce: z.int().describe("The lowest nonce that the agent's next offer or withdrawal may have."),
    today: z
      .strictObject({
        date: z.iso.date(),
        ...amountsOrNull("capacity"),
        ...amounts("limit", "sold", "held", "left", "own_use"),
        resets_at: time.describe("When the day ends. Nothing of it is sold after that."),
      })
      .describe(
        "`capacity` is null until the gateway has read it for the day. `own_use` includes what own requests hold.",
      ),
  }),
});
