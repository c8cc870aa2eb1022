import { formatDecimal, formatUsd } from "@inference/protocol/money";
import { parseShareBps, STANDING_DAY } from "@inference/protocol/offer";
import { offerAnswer } from "@inference/protocol/wire/offer";
import {
  createAgent,
  createdAgent,
  type OfferState,
  putOffer,
  readAgent,
  readOffer,
  setComputer,
  setReserve,
  stake,
} from "@inference/sdk";
import { zeroAddress } from "viem";
import * as z from "zod";
import {
  agentArgument,
  computerOptions,
  findAgent,
  makeKeyFile,
  namedComputer,
  nextDay,
  readUnits,
} from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsAnyone, connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { usd, withCents } from "../money.ts";
import { chainOptions, gatewayOptions, signerOptions } from "../options.ts";
import { paidOutput, payOnce } from "../pending.ts";
import { fields } from "../table.ts";

export const agentCreate = command({
  name: "agent create",
  about: "create an agent: its token, a Safe and a treasury",
  more: "The account becomes its owner and gets all of its tokens.",
  arguments: { name: { about: "of the agent's token" }, symbol: { about: "of the agent's token" } },
  options: {
    ...signerOptions,
    supply: { type: "string", value: "tokens", about: "how many tokens it has; 1000000 without it" },
  },
  output: z.strictObject({
    ...paidOutput,
    agent_token: z.string(),
    owner: z.string(),
    safe: z.string(),
    treasury: z.string(),
  }),
  async run(context, { arguments: { name, symbol }, options }) {
    const supplyText = options.supply ?? "1000000";
    const supply = readUnits(supplyText, "--supply");
    const connection = await connectAsOwner(context, options);
    const intent = `agent create ${JSON.stringify(name)} ${JSON.stringify(symbol)} --supply ${supplyText}`;
    const paid = await payOnce(context, connection, intent, (send) =>
      createAgent(connection, { ...send, name, symbol, supply }),
    );
    const { token, owner, safe, treasury } = await createdAgent(connection, paid.hash);
    return { ...paid, agent_token: token, owner, safe, treasury };
  },
  text: ({ agent_token: token, owner, safe, treasury }) =>
    fields([
      ["agent", token],
      ["owner", owner],
      ["Safe", safe],
      ["treasury", treasury],
      [
        "next",
        `\`infer agent stake ${token} 100\`: each unit gives a dollar of capacity a day, from the next UTC day on`,
      ],
    ]),
});

export const agentStake = command({
  name: "agent stake",
  about: "stake under an agent: a dollar of capacity a day for each unit",
  more:
    "It counts from the next UTC day on. It goes through the backers' vault: the account can withdraw it, and gets a\n" +
    "share of the tokens that the agent's fees mint. With --gift it is the agent's for good.",
  arguments: { agent: agentArgument, amount: { about: "units of the staking token, such as 100" } },
  options: { ...signerOptions, gift: { type: "boolean", about: "for good, and without a share" } },
  output: z.strictObject({
    ...paidOutput,
    agent_token: z.string(),
    amount: z.string().describe("Units."),
    counts_from: z.string().describe("The UTC day."),
  }),
  async run(context, { arguments: { agent, amount }, options }) {
    const units = readUnits(amount, "The amount");
    const as = options.gift === true ? "gift" : "back";
    const connection = await connectAsOwner(context, options);
    const agentToken = await findAgent(context, connection, agent);
    const intent = `agent stake ${agentToken} ${amount}${as === "gift" ? " --gift" : ""}`;
    const paid = await payOnce(context, connection, intent, (send) =>
      stake(connection, { ...send, agentToken, amount: units, as }),
    );
    return { ...paid, agent_token: agentToken, amount, counts_from: await nextDay(connection) };
  },
  text: ({ agent_token: agent, amount, hash, counts_from: day }) =>
    `${amount} units are staked under ${agent}: ${hash}\n` +
    `They give up to $${withCents(amount)} of capacity a day, from ${day} 00:00 UTC on. \`infer agent earnings ${agent}\` shows it.`,
});

export const agentReserve = command({
  name: "agent reserve",
  about: "cap how much of an agent's stake is its capacity",
  more: "Its owner may. It counts from the next UTC day on.",
  arguments: { agent: agentArgument, amount: { about: "dollars a day, such as 40; none: no cap" } },
  options: signerOptions,
  output: z.strictObject({ ...paidOutput, agent_token: z.string(), amount: z.string().nullable() }),
  async run(context, { arguments: { agent, amount }, options }) {
    const units = amount === "none" ? null : readUnits(amount, "The amount");
    const connection = await connectAsOwner(context, options);
    const agentToken = await findAgent(context, connection, agent);
    const paid = await payOnce(context, connection, `agent reserve ${agentToken} ${amount}`, (send) =>
      setReserve(connection, { ...send, agentToken, amount: units }),
    );
    return { ...paid, agent_token: agentToken, amount: units === null ? null : amount };
  },
  text: ({ agent_token: agent, amount }) =>
    `From the next UTC day on ${agent} has ${amount === null ? "no cap" : `at most $${withCents(amount)} a day`}.`,
});

export const agentComputer = command({
  name: "agent computer",
  about: "name the key that signs an agent's offers",
  more: "Its owner may. A --computer-key-file that does not exist is made, with a new key.",
  arguments: { agent: agentArgument },
  options: { ...signerOptions, ...computerOptions, remove: { type: "boolean", about: "it shall have none" } },
  output: z.strictObject({ ...paidOutput, agent_token: z.string(), computer: z.string().nullable() }),
  async run(context, { arguments: { agent }, options }) {
    const connection = await connectAsOwner(context, options);
    const agentToken = await findAgent(context, connection, agent);
    const file = options["computer-key-file"];
    if (options.remove !== true && file !== undefined) makeKeyFile(context, file);
    const computer = options.remove === true ? null : await namedComputer(context, options);
    const named = computer?.address ?? null;
    const paid = await payOnce(context, connection, `agent computer ${agentToken} ${named ?? "--remove"}`, (send) =>
      setComputer(connection, { ...send, agentToken, computer }),
    );
    return { ...paid, agent_token: agentToken, computer: named };
  },
  text: ({ agent_token: agent, computer }) =>
    computer === null
      ? `${agent} has no computer.`
      : `${computer} is the computer of ${agent}.\nNext: \`infer agent offer ${agent} --share 80\` with the computer's key, or \`npm run computer\`.`,
});

export const agentOffer = command({
  name: "agent offer",
  about: "sell a share of an agent's capacity, or show what it sells",
  more:
    "The computer signs. An offer is of one day; a computer that runs (`npm run computer`) renews it. Without --share\n" +
    "and --withdraw it shows the offer.",
  arguments: { agent: agentArgument },
  options: {
    ...gatewayOptions,
    ...chainOptions,
    ...computerOptions,
    share: { type: "string", value: "percent", about: "of the day's capacity, such as 80" },
    standing: { type: "boolean", about: "every day, until it is withdrawn" },
    withdraw: { type: "boolean", about: "sell nothing more" },
  },
  output: offerAnswer.shape.data,
  async run(context, { arguments: { agent }, options }) {
    const { share, withdraw, standing } = options;
    const connection = connectAsAnyone(context, options);
    const agentToken = await findAgent(context, connection, agent);
    if (share === undefined && withdraw !== true) return readOffer(connection, agentToken);
    const shareBps = withdraw === true ? 0 : basisPoints(share ?? "");
    const computer = await namedComputer(context, options);
    const isStanding = standing === true && withdraw !== true;
    return putOffer(connection, { computer, agentToken, isStanding, shareBps });
  },
  text: ({ offer, today }) => fields(offerLines({ offer, today })),
});

function offerLines({ offer, today }: Pick<OfferState, "offer" | "today">): [string, string][] {
  const until = offer?.day === STANDING_DAY ? "until it is withdrawn" : `of ${today.date}`;
  const { sold_nano_usd: sold, limit_nano_usd: limit, held_nano_usd: held } = today;
  return [
    ["offer", offer === null ? "none in force" : `${offer.share_bps / 100} % ${until}`],
    ["sold today", offer === null ? usd(sold) : `${usd(sold)} of ${usd(limit)}, ${usd(held)} held`],
    ...(offer !== null && limit === 0
      ? [["capacity", "none yet: stake counts from 00:00 UTC of the next day on"] as [string, string]]
      : []),
  ];
}

function basisPoints(text: string): number {
  const bps = parseShareBps(text);
  if (bps !== undefined) return bps;
  throw new UsageError(`--share takes a percentage from 0.01 to 100, not \`${text}\`.`);
}

const decimal = z.string().describe("Exact decimal.");

export const agentEarnings = command({
  name: "agent earnings",
  about: "what an agent has, sells, earned and is owed",
  arguments: { agent: agentArgument },
  options: { ...gatewayOptions, ...chainOptions },
  output: z.strictObject({
    agent_token: z.string(),
    owner: z.string(),
    computer: z.string().nullable(),
    stake: decimal,
    reserve: decimal.nullable().describe("Null: no cap."),
    backing: decimal,
    capacity_today: decimal,
    safe: z.strictObject({ address: z.string(), dollars: decimal, tokens: decimal, owed_dollars: decimal }),
    treasury: z.strictObject({ address: z.string(), dollars: decimal, owed_dollars: decimal }),
    ...offerAnswer.shape.data.pick({ offer: true, today: true }).shape,
  }),
  async run(context, { arguments: { agent }, options }) {
    const connection = connectAsAnyone(context, options);
    const agentToken = await findAgent(context, connection, agent);
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
        `$${withCents(safe.dollars)} and ${withCents(safe.tokens)} tokens, owed $${withCents(safe.owed_dollars)} (${safe.address})`,
      ],
      ["treasury", `$${withCents(treasury.dollars)}, owed $${withCents(treasury.owed_dollars)} (${treasury.address})`],
    ]),
});
