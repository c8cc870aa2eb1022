import type { BatchContent, Entry } from "./batch-content.ts";
import type { Revert } from "./settlement-contract.ts";

/** Uses that no batch posts, by their ids, and why. */
export type SetAside = { ids: readonly string[]; reason: SetAsideReason };

/**
 * - `credit`: the account has too little credit on chain
 * - `capacity`: the agent had too little capacity on the day
 * - `agent`: the registry does not know the agent
 * - `expired`: the agent's allowance was three days old before the use was posted
 * - `ceiling`: one use costs more than a day's ceiling
 */
export type SetAsideReason = "credit" | "capacity" | "agent" | "expired" | "ceiling";

/** Serves may be so many days older than the day that pays: `MAX_SERVE_AGE_DAYS` of the contract. */
const MAX_SERVE_AGE_DAYS = 3;

/**
 * The uses because of which the contract refuses a batch; undefined if it refuses it for another reason.
 *
 * @param payingDay Whose ceiling should pay, in days since 1970.
 */
export function refusedUses(
  { entries }: BatchContent,
  { name, args }: Revert,
  payingDay: number,
): SetAside | undefined {
  if (name === "InsufficientCredit") {
    const [account, asked, credit] = args as [string, bigint, bigint];
    const entry = entries.find((one) => isSame(one.account, account) && one.amountNanoUsd === asked);
    return entry && { ids: beyond(entry, credit), reason: "credit" };
  }
  if (name === "CapacityExceeded") {
    const [agent, day, asked, left] = args as [string, bigint, bigint, bigint];
    const entry = entries.find(
      ({ served, amountNanoUsd }) =>
        served !== undefined && isSame(served.agent, agent) && BigInt(served.day) === day && amountNanoUsd === asked,
    );
    return entry && { ids: beyond(entry, left), reason: "capacity" };
  }
  if (name === "NotAnAgent") {
    const [agent] = args as [string];
    const uses = entries.filter(({ served }) => served !== undefined && isSame(served.agent, agent));
    return uses.length === 0 ? undefined : { ids: idsOf(uses), reason: "agent" };
  }
  if (name === "WrongDay") {
    const [day, of] = args as [bigint, bigint];
    // Of a serve and the paying day. Otherwise it is of the paying day and the chain's.
    if (of !== BigInt(payingDay) || day === of) return undefined;
    const old = entries.filter(({ served }) => served !== undefined && served.day + MAX_SERVE_AGE_DAYS < payingDay);
    return old.some(({ served }) => BigInt(served?.day ?? 0) === day)
      ? { ids: idsOf(old), reason: "expired" }
      : undefined;
  }
  return undefined;
}

/** The first uses fit into what is left, and the others do not. */
function beyond({ uses }: Entry, left: bigint): string[] {
  let sum = 0n;
  return uses.flatMap(({ id, chargeNanoUsd }) => {
    sum += BigInt(chargeNanoUsd);
    return sum > left ? id : [];
  });
}

function idsOf(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ uses }) => uses.map(({ id }) => id));
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
