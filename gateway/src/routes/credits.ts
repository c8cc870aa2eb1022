import { formatUsd } from "@inference/protocol/money";
import { creditsAnswer } from "@inference/protocol/wire/answers";
import { toActivationObject } from "../activations/activation-object.ts";
import { activationsOnTheirWay, pendingOf } from "../activations/on-their-way.ts";
import { json, ok } from "../docs/operation.ts";
import { requireAccount } from "../http/identify.ts";
import { amounts, BALANCE_HEADER } from "../http/money.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";

export const getCredits = endpoint({
  prefixes: apiPrefixes,
  path: "/credits",
  id: "getCredits",
  group: "Spending",
  title: "The account's balance",
  about:
    "Of the API key's account, or of the wallet whose session it is; an agent has none. `debited` is what the chain has " +
    "debited of `total_usage`. `taken_over` is the part of it that this gateway has no uses for: somebody else posted it, " +
    "or a restore lost them.",
  credentials: ["API key", "session"],
  answers: [ok("The balance, and the activations on their way to it.", json("CreditsAnswer", creditsAnswer))],
  errors: ["wrong_identity"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { account, partition } = await requireAccount(context);
    const { ledger } = gateway.environment;
    const balance = await ledger.read(partition, { type: "balance", at });
    const bill = await ledger.read(partition, { type: "bill" });
    const pending = await pendingOf(gateway, account);
    const onTheirWay = await activationsOnTheirWay(gateway, account);
    context.header(BALANCE_HEADER, formatUsd(balance.availableNanoUsd ?? 0));
    return context.json({
      balance: formatUsd(balance.availableNanoUsd ?? 0),
      total_used: formatUsd(balance.settledNanoUsd),
      data: {
        ...amounts({
          total_credits: balance.limitNanoUsd ?? 0,
          total_usage: balance.settledNanoUsd,
          reserved: balance.heldNanoUsd,
          available: balance.availableNanoUsd ?? 0,
          debited: bill.debitedNanoUsd,
          taken_over: bill.takenOverNanoUsd,
        }),
        pending:
          pending?.map(({ amountNanoUsd, block, transaction }) => ({
            ...amounts({ amount: amountNanoUsd }),
            block,
            transaction,
          })) ?? null,
        on_their_way: onTheirWay?.filter(({ stage }) => stage !== "credited").map(toActivationObject) ?? null,
      },
    });
  },
});
