import type { AttoUsd } from "@inference/protocol/model";
import { chargeToNanoUsdUp } from "./charge.ts";
import { deliveredTokens } from "./delivered.ts";
import type { Quote } from "./quote.ts";

/** A request whose price is known before it runs. An answer of which anything was delivered costs all of it. */
export function quoteFlat(snapshotId: string, atto: AttoUsd): Quote {
  const flatNanoUsd = chargeToNanoUsdUp(atto);
  return {
    snapshotId,
    maxNanoUsd: flatNanoUsd,
    flatNanoUsd,
    chargeForUsage: () => flatNanoUsd,
    chargeForDelivered: (delivered) => (deliveredTokens(delivered) === 0 ? 0 : flatNanoUsd),
    chargeForPrompt: () => flatNanoUsd,
    affordableTokens: () => null,
  };
}
