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
  about:
    "Of the API key's account, or of the wallet whose session it is; an agent has none. `total_credits` is what was " +
    "activated less `debited_elsewhere`: what batches debited on chain that this gateway did not post.",
  credentials: ["API key", "session"],
  answers: [ok("The balance, and the activations on their way to it.", json("CreditsAnswer", creditsAnswer))],
  errors: ["wrong_identity", ...authenticatedErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const { account, partition } = await requireAccount(context);
    const { ledger } = gateway.environment;
    const balance = await ledger.read(partition, { type: "balance", at });
    const debits = await ledger.read(partition, { type: "debits", limit: MAX_DEBITS });
    const pending = await pendingOf(gateway, account);
    const onTheirWay = await activationsOnTheirWay(gateway, account);
    return context.json({
      data: {
        ...amounts({
          total_credits: balance.limitNanoUsd ?? 0,
          total_usage: balance.settledNanoUsd,
          reserved: balance.heldNanoUsd,
          available: balance.availableNanoUsd ?? 0,
          debited_elsewhere: debits.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0),
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

/** There is one for each foreign batch of the account, and normally none. */
const MAX_DEBITS = 10_000;
