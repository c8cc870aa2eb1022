import { topUpId } from "@inference/protocol/top-up";
import { topUpBody } from "@inference/protocol/wire/top-up";
import {
  ClientError,
  MAX_FEE_TOKEN,
  RefusedError,
  type SignedTopUp,
  sendTopUp,
  signTopUp,
  type TopUp,
} from "@inference/sdk";
import * as z from "zod";
import { findChain } from "../chain-names.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import type { Context } from "../context.ts";
import { readLogin } from "../login-state.ts";
import { dollars, intended, readDollars } from "../money.ts";
import { beginPaying } from "../one-payer.ts";
import { onChainOption, readPins, signerOptions } from "../options.ts";
import { readKept } from "../state-folder.ts";
import { loginAs } from "./login.ts";

type Owner = Awaited<ReturnType<typeof connectAsOwner>>;

export const pay = command({
  name: "pay",
  about: "dollars into balance by signatures alone, without a coin for gas",
  more:
    "The gateway's relay sends the transaction, for a fee that is taken exactly. Without a login it signs for an API key\n" +
    "first, and keeps it as `infer login` does. Ctrl-C stops the waiting only: the same command goes on with it.",
  arguments: { amount: { about: "in dollars, such as 5 or 0.25, without the fee" } },
  options: {
    ...signerOptions,
    ...onChainOption,
    "max-fee": {
      type: "string",
      value: "dollars",
      about: `the most that the relay may take; else ${dollars(MAX_FEE_TOKEN).slice(1)}`,
    },
  },
  output: z.strictObject({
    id: z.string().describe("Of the top-up, for `GET /api/v1/top-up/{id}`."),
    chain_id: z.int(),
    hash: z.string().nullable().describe("Of the transaction."),
    amount_token: z.string().describe("Units of 1e-6 dollar."),
    fee_token: z.string(),
    is_resumed: z.boolean().describe("Whether an earlier run had begun it."),
  }),
  async run(context, { arguments: { amount }, options }) {
    const amountToken = readDollars(amount);
    const maxFeeToken = options["max-fee"] === undefined ? undefined : readDollars(options["max-fee"], "The fee");
    const connection = await connectAsOwner(context, options);
    const { chain_id: chainId } = await findChain(connection, options.chain);
    const intent = `pay ${intended(amountToken)} --chain ${chainId}`;
    const { gateway, account, signer } = connection;
    const endPaying = beginPaying(context, account.address);
    try {
      if (readLogin(context) === undefined) {
        await loginAs(context, { gateway, signing: { account, signer }, chains: readPins(options), terms: {} });
      }
      for (const kept of keptTopUps(context, connection)) {
        context.say(`Going on with \`infer ${kept.intent}\`, which was interrupted.`);
        const done = await finish(context, connection, kept.signed);
        if (done !== undefined && kept.intent === intent) return { ...done, is_resumed: true };
      }
      const signed = await signTopUp(connection, { amountToken, chainId, maxFeeToken });
      const { top_up: terms } = signed;
      context.folder.writeJson(fileOf(signed), { gateway, intent, signed });
      context.say(
        `pay: signed, ${dollars(amountToken)} and a fee of ${dollars(BigInt(terms.fee))} on chain ${chainId}`,
      );
      return { ...(await send(context, connection, signed)), is_resumed: false };
    } finally {
      endPaying();
    }
  },
  text: ({ amount_token: amount, hash }) =>
    `${dollars(BigInt(amount))} are in the balance: ${hash}\nNext: \`infer chat "Hello"\`.`,
});

/** Signed top-ups that have no end yet. Each is stored before it is sent, until the command has printed its result. */
const FOLDER = "top-ups";
const schema = z.strictObject({ gateway: z.string(), intent: z.string(), signed: topUpBody });

function keptTopUps({ folder }: Context, { gateway, account }: Owner): z.infer<typeof schema>[] {
  const isOwn = ({ top_up: { owner } }: SignedTopUp): boolean => owner === account.address;
  return readKept(folder, FOLDER, schema).filter((each) => each.gateway === gateway && isOwn(each.signed));
}

/** Undefined: it paid nothing, and never will. */
async function finish(context: Context, connection: Owner, signed: SignedTopUp) {
  try {
    return await send(context, connection, signed);
  } catch (error) {
    if (!isOver(error, signed)) throw error;
    context.say(error.message);
    return undefined;
  }
}

function isOver(error: unknown, { top_up: { deadline } }: SignedTopUp): error is Error {
  if (error instanceof ClientError) return error.code === "top_up_failed";
  return error instanceof RefusedError && error.code === "payment_refused" && deadline * 1_000 < Date.now();
}

async function send(context: Context, connection: Owner, signed: SignedTopUp) {
  const onState = ({ state, waits_for: waitsFor }: TopUp) =>
    context.say(`pay: ${state}${waitsFor === null ? "" : `. ${waitsFor}`}`);
  try {
    const { transaction: hash, ...paid } = await sendTopUp(connection, signed, { onState });
    const { id, chain_id, amount_token, fee_token } = paid;
    context.afterOutput.push(() => context.folder.remove(fileOf(signed)));
    return { id, chain_id, hash, amount_token, fee_token };
  } catch (error) {
    if (isOver(error, signed)) context.folder.remove(fileOf(signed));
    throw error;
  }
}

function fileOf({ top_up: terms }: SignedTopUp): string {
  return `${FOLDER}/${topUpId(terms)}.json`;
}
