import type { AttoUsd } from "@inference/protocol/model";
import type { NanoUsd } from "@inference/protocol/money";
import { chargeToNanoUsdUp } from "./charge.ts";
import type { Delivered, Quote } from "./quote.ts";

/**
 * A request whose price is known before it runs.
 *
 * @param chargeForDelivered The part of the price that is owed for what was delivered.
 */
export function quoteFlat(
  snapshotId: string,
  atto: AttoUsd,
  chargeForDelivered: (delivered: Delivered) => NanoUsd,
): Quote {
  const flatNanoUsd = chargeToNanoUsdUp(atto);
  return {
    snapshotId,
    maxNanoUsd: flatNanoUsd,
    flatNanoUsd,
    chargeForUsage: () => flatNanoUsd,
    chargeForDelivered,
    chargeForPrompt: () => flatNanoUsd,
    affordableTokens: () => null,
  };
}
