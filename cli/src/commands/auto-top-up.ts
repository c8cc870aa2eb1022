import { type AutoTopUp, endAutoTopUp, pullsBy, readAutoTopUps, setAutoTopUp } from "@inference/sdk";
import * as z from "zod";
import { findChain } from "../chain-names.ts";
import { command } from "../command.ts";
import { connectAsAnyone, connectAsOwner, loginAddress } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { readTime } from "../key-terms.ts";
import { dollars, intended, readDollars } from "../money.ts";
import { chainOptions, gatewayOptions, onChainOption, signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";
import { table } from "../table.ts";

const units = z.string().describe("Units of 1e-6 dollar.");
const named = { chain_id: z.int(), name: z.string().nullable() };

export const autoTopUp = command({
  name: "auto-top-up",
  about: "the account's standing orders for top-ups, on each chain",
  more:
    "An order lets the operator's keeper turn at most so many dollars of the wallet a UTC day into the account's own\n" +
    "balance, while the credit on chain is below a threshold. `infer auto-top-up end` ends it at once.",
  arguments: {},
  options: { ...gatewayOptions, ...chainOptions },
  output: z.strictObject({
    chains: z.array(
      z.union([
        z.strictObject({
          ...named,
          order: z
            .strictObject({ puller: z.string(), max_per_day: units, pulled_today: units, expires_at: z.string() })
            .nullable(),
          allowance: units,
          terms: z
            .strictObject({ puller: z.string(), below: units, least: units })
            .nullable()
            .describe("Of the operator's keeper; null: it pulls nothing here, or does not answer."),
        }),
        z.strictObject({ ...named, unread: z.string().describe("Why.") }),
      ]),
    ),
  }),
  async run(context, { options }) {
    const address = loginAddress(context, options);
    const found = await readAutoTopUps(connectAsAnyone(context, options), address);
    return { chains: found.map((each) => ("unread" in each ? unreadOf(each) : shown(each))) };
  },
  text: ({ chains }, columns) =>
    table(
      ["chain", " a day", " today", "until", "puller", "pulls"],
      chains.map((each) => {
        const place = each.name ?? String(each.chain_id);
        if ("unread" in each) return [place, "", "", "", "", each.unread];
        const { order, terms } = each;
        const [below, least] = terms === null ? [] : [dollars(BigInt(terms.below)), dollars(BigInt(terms.least))];
        const pulls = terms === null ? "nothing here" : `below ${below}, at least ${least}`;
        if (order === null) return [place, "no order", "", "", "", pulls];
        const { puller, max_per_day: most, pulled_today: pulled, expires_at: end } = order;
        const own = pullsBy(order, terms) ? pulls : "nothing: the order names another puller";
        return [place, dollars(BigInt(most)), dollars(BigInt(pulled)), end, puller, own];
      }),
      { columns, empty: "No chain here has standing orders." },
    ),
});

export const autoTopUpSet = command({
  name: "auto-top-up set",
  about: "order top-ups of at most so much a day",
  more:
    "Two transactions: an allowance of a day's maximum for each day of the order, and the order. The dollars can become\n" +
    "balance of this account only. A pull takes no fee, and the rest of the day's maximum at once.",
  arguments: {
    amount: { about: "the most in dollars a UTC day, such as 5" },
    until: { about: "the end, such as 2027-01-01 or 2027-01-01T12:00:00Z" },
  },
  options: { ...signerOptions, ...onChainOption },
  output: z.strictObject({ ...paidOutput, max_per_day: units, expires_at: z.string() }),
  async run(context, { arguments: { amount, until }, options }) {
    const maxPerDayToken = readDollars(amount);
    const expiresAt = readTime(until, "The end");
    if (expiresAt.getTime() <= Date.now()) throw new UsageError(`The end has passed: \`${until}\`.`);
    const connection = await connectAsOwner(context, options);
    const { chain_id: chainId } = await findChain(connection, options.chain);
    const expires_at = expiresAt.toISOString();
    const intent = `auto-top-up set ${intended(maxPerDayToken)} ${expires_at} --chain ${chainId}`;
    const paid = await payOnce(context, connection, intent, (send) =>
      setAutoTopUp(connection, { ...send, chainId, maxPerDayToken, expiresAt }),
    );
    return { ...paid, max_per_day: String(maxPerDayToken), expires_at };
  },
  text: ({ max_per_day: most, expires_at: end, hash, chain_id: id }) =>
    `At most ${dollars(BigInt(most))} a day of the dollars on chain ${id} become balance, until ${end}: ${hash}\n` +
    `Next: \`infer auto-top-up\` shows it, and \`infer auto-top-up end --chain ${id}\` ends it.`,
});

export const autoTopUpEnd = command({
  name: "auto-top-up end",
  about: "end the order at once",
  arguments: {},
  options: { ...signerOptions, ...onChainOption },
  output: z.strictObject(paidOutput),
  async run(context, { options }) {
    const connection = await connectAsOwner(context, options);
    const { chain_id: chainId } = await findChain(connection, options.chain);
    return payOnce(context, connection, `auto-top-up end --chain ${chainId}`, (send) =>
      endAutoTopUp(connection, { ...send, chainId }),
    );
  },
  text: ({ chain_id: id, hash }) => `The order on chain ${id} has ended: ${hash}`,
});

function unreadOf({ chainId, name, unread }: { chainId: number; name: string | null; unread: string }) {
  return { chain_id: chainId, name, unread };
}

function shown({ chainId, name, order, allowanceToken, terms }: AutoTopUp) {
  return {
    ...{ chain_id: chainId, name, allowance: String(allowanceToken) },
    order: order && {
      puller: order.puller,
      max_per_day: String(order.maxPerDayToken),
      pulled_today: String(order.pulledTodayToken),
      expires_at: order.expiresAt,
    },
    terms: terms && { puller: terms.puller, below: String(terms.belowToken), least: String(terms.leastToken) },
  };
}
