import { LOCAL_CHAIN_IDS } from "@inference/contracts/deploy";
import type { Chain } from "./chain.ts";
import type { DevnetClock } from "./clock.ts";
import { DevnetError } from "./devnet-error.ts";
import type { Processes } from "./processes.ts";

const DAY_SECONDS = 86_400;

export type DayOptions = {
  chains: readonly Pick<Chain, "chainId" | "timestamp" | "goTo">[];
  clock: DevnetClock;
  processes: Pick<Processes, "restartTimed">;
  /** Moves the provider simulator; absent with a provider of the user's own. */
  provider?(): Promise<void>;
};

/**
 * Moves the devnet to the next 00:00 UTC: the chains make a block of that second, and the processes start again with
 * the new time. Returns that time in seconds since the epoch. Throws {@link DevnetError} for a chain that is not local.
 */
export async function goToNextDay({ chains, clock, processes, provider }: DayOptions): Promise<number> {
  refuseForeignChains(chains);
  let midnight = 0;
  // A running process would not believe a clock that jumps.
  await processes.restartTimed(async () => {
    const latest = await Promise.all(chains.map((chain) => chain.timestamp()));
    const now = Math.max(Math.floor(clock.now() / 1_000), ...latest);
    midnight = (Math.floor(now / DAY_SECONDS) + 1) * DAY_SECONDS;
    clock.set(midnight * 1_000);
    await Promise.all(chains.map((chain) => chain.goTo(midnight)));
    await provider?.();
  });
  return midnight;
}

function refuseForeignChains(chains: DayOptions["chains"]): void {
  const foreign = chains.map(({ chainId }) => chainId).filter((chainId) => !LOCAL_CHAIN_IDS.includes(chainId));
  if (foreign.length === 0) return;
  const ids = LOCAL_CHAIN_IDS.join(", ");
  throw new DevnetError(`Only local chains (${ids}) can be taken to another day, not ${foreign.join(", ")}.`);
}
