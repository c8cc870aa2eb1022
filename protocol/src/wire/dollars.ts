import * as z from "zod";
import { address, amounts, anyAmountsOrNull, count, time } from "./fields.ts";

/** The place of dollars: activations on their way to a balance, and the sums of the secondary chains. */
export const activationOnItsWay = z.strictObject({
  source_chain_id: z.int().describe("The chain on which it was burned."),
  guid: z.string().nullable().describe("The id of the bridge's message; null for one on the primary chain."),
  ...amounts("amount"),
  stage: z
    .enum(["burned", "sent", "verified", "waiting", "delivered", "credited", "discarded"])
    .describe(
      "`burned`: in a block that is not final. `sent`: final there. `verified`: attested by every verifier. `waiting`: " +
        "arrived, and not covered yet. `delivered`: in a block of the primary chain that is not final. `credited`: in the " +
        "balance. `discarded`: removed by the timelock.",
    ),
  waits_for: z.string().nullable().describe("What has to happen next, as a sentence for people. Null: nothing."),
  transaction: z.string().describe("Of the burn; of the activation on the primary chain."),
  since: time.nullable().describe("The time of the burn's block."),
  block: count.nullable().describe("Its block on the primary chain."),
  due_at: time.nullable().describe("When it is credited at the latest, if chains and bridges work as they should."),
});

export const activationsAnswer = z.strictObject({
  data: z.strictObject({
    address,
    activations: z.array(activationOnItsWay),
    unknown_chain_ids: z.array(z.int()).describe("Secondary chains that this gateway does not read."),
  }),
});

export const secondaryBooks = z.strictObject({
  chain_id: z.int(),
  known: z
    .boolean()
    .describe("False: the gateway does not read this chain, or has not yet. The other fields are null."),
  block: count.nullable(),
  at: time.nullable(),
  ...anyAmountsOrNull("supply", "line", "gifted", "outbox", "flushed", "booked", "in_flight", "waiting"),
  outbox_since: time.nullable().describe("Since when dollars wait in the outbox."),
  oldest_message_at: time.nullable().describe("When the oldest message was burned that has not taken effect."),
  adds_up: z
    .boolean()
    .nullable()
    .describe(
      "Whether `supply + in_flight + gifted = line + outbox + flushed - booked`, and nothing arrived that was not sent.",
    ),
});
