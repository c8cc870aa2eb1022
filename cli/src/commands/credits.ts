import { creditsAnswer } from "@inference/protocol/wire/answers";
import { readCredits } from "@inference/sdk";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import { usd } from "../money.ts";
import { gatewayOptions, keyOptions } from "../options.ts";
import { fields } from "../table.ts";

export const credits = command({
  name: "credits",
  about: "the balance, and what is on its way to it",
  arguments: {},
  options: { ...gatewayOptions, ...keyOptions },
  output: creditsAnswer.shape.data,
  run: (context, { options }) => readCredits(connectWithKey(context, options)),
  text: (credits) =>
    fields([
      ["available", usd(credits.available_nano_usd)],
      ["reserved", `${usd(credits.reserved_nano_usd)} by requests that run`],
      ["spent", `${usd(credits.total_usage_nano_usd)} of ${usd(credits.total_credits_nano_usd)}`],
      ...(credits.on_their_way ?? [])
        .filter(({ stage }) => stage !== "credited")
        .map(({ amount_nano_usd: amount, source_chain_id: chain, stage, ...more }) => {
          const due = more.due_at === null ? "" : `, until ${more.due_at} at the latest`;
          return ["on its way", `${usd(amount)} from chain ${chain}: ${more.waits_for ?? stage}${due}`] as const;
        }),
      credits.on_their_way === null ? ["on its way", "not known now: the chain cannot be read"] : undefined,
    ]),
});
