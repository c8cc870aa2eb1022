import { creditsAnswer } from "@inference/protocol/wire/answers";
import { toActivationObject } from "../activations/activation-object.ts";
import { activationsOnTheirWay, pendingOf } from "../activations/on-their-way.ts";
import { json, ok } from "../docs/operation.ts";
import { requireAccount } from "../http/identify.ts";
import { amounts } from "../http/money.ts";
import { endpoint } from "./endpoint.ts";
import { authenticatedErrors } from "./endpoint-errors.ts";

export const getCredits = endpoint({
  method: "GET",
  path: "/api/v1/credits",
  id: "getCredits",
  group: "Spending",
  title: "The account's balance",
  about: "Of the API key's account, or of the wallet whose session it is; an agent has none.",
  credentials: ["API key", "session"],
  answers: [ok("The balance, and the activations on their way to it.", json("CreditsAnswer", creditsAnswer))],
  errors: ["wrong_identity", ...authenticatedErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const { account, partition } = await requireAccount(context);
    const balance = await gateway.environment.ledger.read(partition, { type: "balance", at });
    return context.json({
      data: {
        ...amounts({
          total_credits: balance.limitNanoUsd ?? 0,
          total_usage: balance.settledNanoUsd,
          reserved: balance.heldNanoUsd,
          available: balance.availableNanoUsd ?? 0,
        }),
        pending:
          pendingOf(gateway, account)?.map(({ amountNanoUsd, block, transaction }) => ({
            ...amounts({ amount: amountNanoUsd }),
            block,
            transaction,
          })) ?? null,
        on_their_way: activationsOnTheirWay(gateway, account)?.map(toActivationObject) ?? null,
      },
    });
  },
});
