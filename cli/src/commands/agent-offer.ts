import { MAX_SHARE_BPS, STANDING_DAY } from "@inference/protocol/offer";
import { DAY_MS } from "@inference/protocol/window";
import { offerAnswer } from "@inference/protocol/wire/offer";
import { type OfferState, putOffer, readOffer } from "@inference/sdk";
import { agentArgument, computerOptions, namedComputer, readAgentToken } from "../agent-options.ts";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { usd } from "../money.ts";
import { chainOptions, gatewayOptions } from "../options.ts";
import { fields } from "../table.ts";

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
    const agentToken = readAgentToken(agent);
    const { share, withdraw, standing } = options;
    const connection = connectAsAnyone(context, options);
    if (share === undefined && withdraw !== true) return readOffer(connection, agentToken);
    const shareBps = withdraw === true ? 0 : basisPoints(share ?? "");
    const computer = await namedComputer(context, options);
    const { offer, today } = await readOffer(connection, agentToken);
    // The gateway's day counts, not this machine's.
    const ofToday = Date.parse(today.date) / DAY_MS;
    const day = withdraw === true ? (offer?.day ?? ofToday) : standing === true ? STANDING_DAY : ofToday;
    return putOffer(connection, { computer, agentToken, day, shareBps });
  },
  text: ({ offer, today }) => fields(offerLines({ offer, today })),
});

export function offerLines({ offer, today }: Pick<OfferState, "offer" | "today">): [string, string][] {
  const until = offer?.day === STANDING_DAY ? "until it is withdrawn" : `of ${today.date}`;
  const { sold_nano_usd: sold, limit_nano_usd: limit, held_nano_usd: held } = today;
  return [
    ["offer", offer === null ? "none in force" : `${offer.share_bps / 100} % ${until}`],
    ["sold today", `${usd(sold)} of ${usd(limit)}, ${usd(held)} held`],
  ];
}

function basisPoints(text: string): number {
  const [, whole = "", fraction = ""] = /^(\d{1,3})(?:\.(\d{1,2}))?%?$/.exec(text) ?? [];
  const bps = Number(whole) * 100 + Number(fraction.padEnd(2, "0"));
  if (whole !== "" && bps >= 1 && bps <= MAX_SHARE_BPS) return bps;
  throw new UsageError(`--share takes a percentage from 0.01 to 100, not \`${text}\`.`);
}
