import type { Activation } from "@inference/ledger/commands";
import type { PendingActivation } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { cappedNanoUsd, NANO_USD_PER_TOKEN_UNIT, type NanoUsd } from "@inference/protocol/money";

/** Activations that are on the chain and not final. For display only. */
export type Pending = {
  replace(activations: readonly Activation[]): void;
  /** Drops activations that became final. */
  dropUpTo(block: number): void;
  of(account: Address): PendingActivation[];
  all(): readonly Activation[];
};

export function createPending(): Pending {
  let pending: readonly Activation[] = [];
  return {
    replace(activations) {
      pending = activations;
    },
    dropUpTo(block) {
      pending = pending.filter((activation) => activation.block > block);
    },
    of(account) {
      const wanted = account.toLowerCase();
      return pending
        .filter((activation) => activation.account === wanted)
        .map(({ amountToken, block, transaction }) => ({ amountNanoUsd: shown(amountToken), block, transaction }));
    },
    all: () => pending,
  };
}

function shown(amountToken: string): NanoUsd {
  return cappedNanoUsd(BigInt(amountToken) * NANO_USD_PER_TOKEN_UNIT);
}
