import { bridge as bridgeTokens, ContractError, untilArrived } from "@inference/sdk";
import { isAddress } from "viem";
import * as z from "zod";
import { findChain } from "../chain-names.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { dollars, intended, readDollars } from "../money.ts";
import { signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";

export const bridge = command({
  name: "bridge",
  about: "move tokens to another chain",
  more: "It waits until they are there, which takes minutes. Ctrl-C stops the waiting only.",
  arguments: { amount: { about: "in dollars, such as 5 or 0.25" } },
  options: {
    ...signerOptions,
    from: { type: "string", value: "chain", about: "its id or name" },
    to: { type: "string", value: "chain", about: "its id or name; one of the two is the primary chain" },
    "no-wait": { type: "boolean", about: "end when they have left for good; they arrive all the same" },
    recipient: { type: "string", value: "address", about: "who gets them; the account without it" },
  },
  output: z.strictObject({
    ...paidOutput,
    to_chain_id: z.int(),
    arrived: z.string().nullable().describe("The transaction on the other chain; null with --no-wait."),
    amount_token: z.string().describe("Units of 1e-6 token."),
  }),
  async run(context, { arguments: { amount }, options }) {
    const amountToken = readDollars(amount);
    const { from, to, recipient } = options;
    if (from === undefined || to === undefined) throw new UsageError("`infer bridge` needs --from and --to.");
    if (recipient !== undefined && !isAddress(recipient)) throw new UsageError("--recipient takes an address.");
    const connection = await connectAsOwner(context, options);
    const { chain_id: fromChainId } = await findChain(connection, from);
    const { chain_id: toChainId } = await findChain(connection, to);
    if (fromChainId === toChainId) throw new UsageError("--from and --to name the same chain.");
    const whom = recipient === undefined ? "" : ` --recipient ${recipient}`;
    const intent = `bridge ${intended(amountToken)} --from ${fromChainId} --to ${toChainId}${whom}`;
    const paid = await payOnce(context, connection, intent, (send) =>
      bridgeTokens(connection, {
        ...{ ...send, amountToken, fromChainId, toChainId },
        ...(recipient === undefined ? {} : { to: recipient }),
      }),
    );
    const output = { ...paid, to_chain_id: toChainId, amount_token: String(amountToken) };
    if (options["no-wait"] === true) return { ...output, arrived: null };
    context.say(`bridge: on its way to chain ${toChainId}`);
    const onWaiting = (): void => context.say("bridge: there, and waits for what covers it, which can take a day");
    const sent = { fromChainId, toChainId, hash: paid.hash };
    const arrived = await untilArrived(connection, sent, { onWaiting }).catch((error: unknown) => {
      // A discarded transfer is over: do not find it again.
      if (error instanceof ContractError && error.hash !== null) for (const forget of context.afterOutput) forget();
      throw error;
    });
    context.say("bridge: arrived");
    return { ...output, arrived: arrived.hash };
  },
  text: ({ amount_token: amount, chain_id: from, to_chain_id: to, hash, arrived }) =>
    arrived === null
      ? `${dollars(BigInt(amount))} left chain ${from} for chain ${to}: ${hash}`
      : `${dollars(BigInt(amount))} arrived on chain ${to}: ${arrived}`,
});
