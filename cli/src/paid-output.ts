import * as z from "zod";

/** What every command that pays prints. */
export const paidOutput = {
  chain_id: z.int(),
  hash: z.string().describe("Of the transaction."),
  is_resumed: z.boolean().describe("Whether an earlier run had begun it."),
};
