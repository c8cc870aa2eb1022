import { mint as mintTokens } from "@inference/sdk";
import * as z from "zod";
import { findChain } from "../chain-names.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { dollars, intended, readDollars } from "../money.ts";
import { onChainOption, signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";

export const mint = command({
  name: "mint",
  about: "pay dollars of a chain for as many tokens",
  arguments: { amount: { about: "in dollars, such as 5 or 0.25" } },
  options: {
    ...signerOptions,
    ...onChainOption,
    approve: { type: "boolean", about: "pay by an approval, also where the dollar has a permit" },
  },
  output: z.strictObject({ ...paidOutput, amount_token: z.string().describe("Units of 1e-6 token.") }),
  async run(context, { arguments: { amount }, options }) {
    const amountToken = readDollars(amount);
    const connection = await connectAsOwner(context, options);
    const chain = await findChain(connection, options.chain);
    const paid = await payOnce(context, connection, `mint ${intended(amountToken)} --chain ${chain.chain_id}`, (send) =>
      mintTokens(connection, {
        ...{ ...send, amountToken, chainId: chain.chain_id },
        ...(options.approve === true ? { pay: "approve" as const } : {}),
      }),
    );
    return { ...paid, amount_token: String(amountToken) };
  },
  text: ({ amount_token: amount, chain_id: chain, hash }) =>
    `Minted ${dollars(BigInt(amount))} on chain ${chain}: ${hash}\n` +
    `Next: \`infer activate ${dollars(BigInt(amount)).slice(1)} --chain ${chain}\` makes balance of it.`,
});
