import type { Child } from "./child.ts";
import { clockEnvironment, type DevnetClock } from "./clock.ts";
import type { Processes } from "./processes.ts";
import type { RelayerOptions } from "./relayer.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";
import { privateKeyOf, roles } from "./wallets.ts";

/** In a chain's coin, of which the keeper's account begins with 10,000. */
const DAILY_BUDGET_WEI = 10n ** 18n;
/** In token units: a cent, so that one sees the payments of few requests. */
const MIN_PAYMENT = 10_000n;

/** Starts what flushes, books, delivers, pays, converts and buys, in a process of its own; resolves when it works. */
export async function startKeeper(
  processes: Processes,
  options: RelayerOptions & { clock: DevnetClock },
): Promise<Child> {
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
  const child = processes.start({
    name: "keeper",
    script: new URL("../../../keeper/src/main.ts", import.meta.url),
    environment: {
      ...environment,
      KEEPER_FILE: folder.file("keeper.json"),
      KEEPER_KEY: privateKeyOf(roles.keeper),
      ...clockEnvironment(clock),
    },
    logFile: folder.file("keeper.log"),
  });
  await child.says((line) => (line.startsWith('{"event":"keeping"') ? true : undefined));
  return child;
}
