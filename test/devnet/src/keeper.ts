import type { Chains } from "./chains.ts";
import type { Child } from "./child.ts";
import { clockEnvironment, type DevnetClock } from "./clock.ts";
import type { Deployment } from "./deployment.ts";
import type { Folder } from "./folder.ts";
import type { Processes } from "./processes.ts";
import { programs } from "./programs.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";
import { privateKeyOf, roles } from "./wallets.ts";

/** In a chain's coin. The keeper's account begins with 10,000. */
const DAILY_BUDGET_WEI = 10n ** 18n;
/** A cent in token units, so that the payments of a few requests are seen. */
const MIN_PAYMENT = 10_000n;

export type KeeperOptions = {
  chains: Chains;
  deployment: Deployment;
  folder: Folder;
  environment: Readonly<Record<string, string | undefined>>;
  clock: DevnetClock;
};

/** Starts the keeper; resolves when it works. */
export async function startKeeper(processes: Processes, options: KeeperOptions): Promise<Child> {
  const { chains, deployment, folder, environment, clock } = options;
  folder.writeJson("keeper.json", {
    databaseFile: folder.file("keeper.sqlite"),
    pollMs: 2_000,
    dailyBudgetWei: String(DAILY_BUDGET_WEI),
    minPayment: String(MIN_PAYMENT),
    chains: LOCAL_CHAIN_NAMES.map((name) => {
      const { chainId, block, contracts, layerZero } = deployment[name];
      return { name, chainId, eid: layerZero.eid, rpcUrl: chains[name].rpcUrl, startBlock: block, contracts };
    }),
  });
  const own = { KEEPER_FILE: folder.file("keeper.json"), KEEPER_KEY: privateKeyOf(roles.keeper) };
  const child = processes.start(programs.keeper, {
    environment: { ...environment, ...own, ...clockEnvironment(clock) },
  });
  await child.ready();
  return child;
}
