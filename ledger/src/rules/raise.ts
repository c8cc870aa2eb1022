import type { NanoUsd } from "@inference/protocol/money";

/** The state of a shared limit on a day, with an account's holds and ask. */
export type Raise = {
  day: number;
  /** All accounts' use, and the other accounts' unused allowances. */
  settledNanoUsd: NanoUsd;
  othersNanoUsd: NanoUsd;
  ownNanoUsd: NanoUsd;
  amountNanoUsd: NanoUsd;
  offer: string | null;
};
