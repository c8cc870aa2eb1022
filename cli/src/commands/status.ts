import { statusAnswer } from "@inference/protocol/wire/answers";
import { readStatus } from "@inference/sdk";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { usd } from "../money.ts";
import { gatewayOptions } from "../options.ts";
import { fields } from "../table.ts";

export const status = command({
  name: "status",
  about: "the gateway's day: the ceiling, the chains, the books",
  arguments: {},
  options: gatewayOptions,
  output: statusAnswer.shape.data,
  run: (context, { options }) => readStatus(connectAsAnyone(context, options)),
  text: ({ base_url: url, version, ceiling, following, settler, settlement, books, prices, ...rest }) =>
    fields([
      ["gateway", `${url}, version ${version}`],
      [
        "ceiling",
        `${usd(ceiling.left_nano_usd)} of ${usd(ceiling.limit_nano_usd)} are left until ${ceiling.resets_at}`,
      ],
      ["chains", `${rest.chain_ids.join(", ")}; ${following.state}, at block ${following.block} of the first`],
      [
        "settler",
        settler === null ? "none" : `${settler.state}${settler.reason === null ? "" : `: ${settler.reason}`}`,
      ],
      ["settled", settlement === null ? "not read yet" : settledOf(settlement)],
      ["books", books === null ? "not read yet" : addsUp[String(books.adds_up) as keyof typeof addsUp]],
      ["prices", prices === null ? "none" : `${prices.models} models, ${prices.age_s} s old`],
      rest.provider_bill == null ? undefined : ["provider's bill", billOf(rest.provider_bill)],
    ]),
});

type Settlement = NonNullable<(typeof statusAnswer.shape.data)["_output"]["settlement"]>;

function settledOf({ debited_nano_usd: debited, chunks_in_flight: sent, ...waiting }: Settlement): string {
  const { waiting_accounts: accounts, waiting_nano_usd: amount, oldest_at: oldest } = waiting;
  const rest =
    oldest === null ? "nothing waits" : `${usd(amount)} of ${accounts} accounts waits, the oldest since ${oldest}`;
  return `${usd(debited)}; ${sent} chunks are on their way; ${rest}`;
}

type Bill = NonNullable<(typeof statusAnswer.shape.data)["_output"]["provider_bill"]>;

function billOf({ day, provider_nano_usd: charged, listed_nano_usd: listed }: Bill): string {
  const charges = charged === null ? "not read yet" : usd(charged);
  return `${day}: ${charges}; at list prices ${listed === null ? "not known" : usd(listed)}`;
}

const addsUp = {
  true: "the books of all chains add up",
  false: "THE BOOKS DO NOT ADD UP",
  null: "what is known of the books adds up; not every chain is known",
};
