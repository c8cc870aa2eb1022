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

/** The relay's terms: two cents for a top-up of a dollar or more, and payments of a tenth of a dollar or more. */
const RELAY_TERMS = { fee: "20000", least: "1000000", leastX402: "100000", mostWei: String(10n ** 17n) };

/** Auto top-ups: below five dollars of credit, a dollar or more. */
const STANDING_ORDERS = { below: "5000000", least: "1000000", dailyBudgetWei: String(DAILY_BUDGET_WEI) };

export type KeeperOptions = {
  relay: { port: number; secret: string };
  chains: Chains;
  deployment: Deployment;
  folder: Folder;
  environment: Readonly<Record<string, string | undefined>>;
  clock: DevnetClock;
};

/** Starts the keeper; resolves when it works. */
export async function startKeeper(processes: Processes, options: KeeperOptions): Promise<Child> {
  const { chains, deployment, folder, environment, clock, relay } = options;
  folder.writeJson("keeper.json", {
    databaseFile: folder.file("keeper.sqlite"),
    pollMs: 2_000,
    dailyBudgetWei: String(DAILY_BUDGET_WEI),
    minPayment: String(MIN_PAYMENT),
    relay: { port: relay.port, dailyBudgetWei: String(DAILY_BUDGET_WEI) },
    standingOrders: STANDING_ORDERS,
    chains: LOCAL_CHAIN_NAMES.map((name) => {
      const { chainId, block, contracts, layerZero } = deployment[name];
      const { rpcUrl, finalityDepth: confirmations } = chains[name];
      const chain = { name, chainId, eid: layerZero.eid, rpcUrl, startBlock: block, confirmations, contracts };
      return { ...chain, relay: RELAY_TERMS };
    }),
  });
  const own = {
    KEEPER_FILE: folder.file("keeper.json"),
    KEEPER_KEY: privateKeyOf(roles.keeper),
    RELAY_KEY: privateKeyOf(roles.relay),
    RELAY_SECRET: relay.secret,
  };
  const child = processes.start(programs.keeper, {
    environment: { ...environment, ...own, ...clockEnvironment(clock) },
  });
  await child.ready();
  return child;
}
