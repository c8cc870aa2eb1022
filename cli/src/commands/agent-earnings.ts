import { formatDecimal, formatUsd } from "@inference/protocol/money";
import { offerAnswer } from "@inference/protocol/wire/offer";
import { readAgent, readOffer } from "@inference/sdk";
import { zeroAddress } from "viem";
import * as z from "zod";
import { agentArgument, readAgentToken } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { withCents } from "../money.ts";
import { chainOptions, gatewayOptions } from "../options.ts";
import { fields } from "../table.ts";
import { offerLines } from "./agent-offer.ts";

const amount = z.string().describe("Exact decimal.");

export const agentEarnings = command({
  name: "agent earnings",
  about: "what an agent has, sells, earned and is owed",
  arguments: { agent: agentArgument },
  options: { ...gatewayOptions, ...chainOptions },
  output: z.strictObject({
    agent_token: z.string(),
    owner: z.string(),
    computer: z.string().nullable(),
    stake: amount,
    reserve: amount.nullable().describe("Null: no cap."),
    backing: amount,
    capacity_today: amount,
    safe: z.strictObject({ address: z.string(), dollars: amount, tokens: amount, owed_dollars: amount }),
    treasury: z.strictObject({ address: z.string(), dollars: amount, owed_dollars: amount }),
    ...offerAnswer.shape.data.pick({ offer: true, today: true }).shape,
  }),
  async run(context, { arguments: { agent }, options }) {
    const connection = connectAsAnyone(context, options);
    const agentToken = readAgentToken(agent);
    const books = await readAgent(connection, agentToken);
    const { offer, today } = await readOffer(connection, agentToken);
    const units = (value: bigint): string => formatDecimal(value, 18);
    const dollars = (value: bigint): string => formatDecimal(value, books.dollarDecimals);
    const nano = (value: bigint): string => formatUsd(Number(value));
    return {
      ...{ agent_token: agentToken, owner: books.owner },
      computer: books.computer === zeroAddress ? null : books.computer,
      stake: units(books.stake),
      reserve: books.reserve === null ? null : units(books.reserve),
      backing: units(books.backing),
      capacity_today: nano(books.capacityTodayNanoUsd),
      safe: {
        address: books.safe,
        dollars: dollars(books.safeDollars),
        tokens: formatDecimal(books.safeToken, 6),
        owed_dollars: nano(books.owedSafeNanoUsd),
      },
      treasury: {
        address: books.treasury,
        dollars: dollars(books.treasuryDollars),
        owed_dollars: nano(books.owedTreasuryNanoUsd),
      },
      ...{ offer, today },
    };
  },
  text: ({ stake, reserve, backing, capacity_today: capacity, computer, safe, treasury, offer, today }) =>
    fields([
      ["stake", `${stake} units, ${backing} of them by backers; cap: ${reserve ?? "none"}`],
      ["capacity", `$${withCents(capacity)} today`],
      ["computer", computer ?? "none"],
      ...offerLines({ offer, today }),
      [
        "Safe",
        `$${withCents(safe.dollars)} and ${safe.tokens} tokens, owed $${withCents(safe.owed_dollars)} (${safe.address})`,
      ],
      ["treasury", `$${withCents(treasury.dollars)}, owed $${withCents(treasury.owed_dollars)} (${treasury.address})`],
    ]),
});
