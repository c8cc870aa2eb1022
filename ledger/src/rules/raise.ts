import type { NanoUsd } from "@inference/protocol/money";

/** The state of a shared limit on a day, with an account's holds and ask. */
export type Raise = {
  day: number;
  /** All accounts' use, and the other accounts' unused allowances. */
  settledNanoUsd: NanoUsd;
  othersNanoUsd: NanoUsd;
  ownNanoUsd: NanoUsd;
  amountNanoUsd: NanoUsd;
  /** Whether the account takes the limit in pieces, which may stay until the day is over. */
  isInPieces: boolean;
  offer: string | null;
};
