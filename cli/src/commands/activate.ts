import { activateFrom } from "@inference/sdk";
import * as z from "zod";
import { findChain } from "../chain-names.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { dollars, intended, readDollars } from "../money.ts";
import { onChainOption, signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";

export const activate = command({
  name: "activate",
  about: "burn tokens for balance, and wait until it is there",
  more:
    "It cannot be undone. On a secondary chain a message carries it, which the chain's coin pays for; above what that\n" +
    "chain's dollars cover it can take a day. Ctrl-C stops the waiting only: the same command goes on with it.",
  arguments: { amount: { about: "in dollars, such as 5 or 0.25" } },
  options: {
    ...signerOptions,
    ...onChainOption,
  },
  output: z.strictObject({ ...paidOutput, amount_token: z.string().describe("Units of 1e-6 token.") }),
  async run(context, { arguments: { amount }, options }) {
    const amountToken = readDollars(amount);
    const connection = await connectAsOwner(context, options);
    const { chain_id: chainId } = await findChain(connection, options.chain);
    const paid = await payOnce(context, connection, `activate ${intended(amountToken)} --chain ${chainId}`, (send) =>
      activateFrom(connection, { ...send, amountToken, chainId }),
    );
    return { ...paid, amount_token: String(amountToken) };
  },
  text: ({ amount_token: amount, hash }) =>
    `${dollars(BigInt(amount))} are in the balance: ${hash}\nNext: \`infer chat "Hello"\`.`,
});
