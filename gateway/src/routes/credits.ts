import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";
import { requireAccount } from "../http/identify.ts";
import { usd } from "../http/money.ts";

/** GET /api/v1/credits: the balance of an account, and the activations that are on their way to it. */
export async function getCredits(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { account, partition } = await requireAccount(context);
  const balance = await gateway.environment.ledger.read(partition, { type: "balance", at });
  const total = balance.limitNanoUsd ?? 0;
  const available = balance.availableNanoUsd ?? 0;
  return context.json({
    data: {
      total_credits: usd(total),
      total_credits_nano_usd: total,
      total_usage: usd(balance.settledNanoUsd),
      total_usage_nano_usd: balance.settledNanoUsd,
      reserved: usd(balance.heldNanoUsd),
      reserved_nano_usd: balance.heldNanoUsd,
      available: usd(available),
      available_nano_usd: available,
      pending: pending(gateway, account),
    },
  });
}

/** Null while the chain cannot be read: nobody knows, which is not none. The balance is known all the same. */
function pending({ environment }: Gateway, account: Address) {
  try {
    return environment.chain.pendingActivations(account).map(({ amountNanoUsd, block, transaction }) => ({
      amount: usd(amountNanoUsd),
      amount_nano_usd: amountNanoUsd,
      block,
      transaction,
    }));
  } catch (error) {
    if (error instanceof ChainUnavailable) return null;
    throw error;
  }
}
