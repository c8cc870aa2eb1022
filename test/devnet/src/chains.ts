import { type Chain, startChain } from "./chain.ts";
import type { DevnetClock } from "./clock.ts";
import { type Deployment, deploy } from "./deployment.ts";
import { DevnetError } from "./devnet-error.ts";
import type { FileName, Folder } from "./folder.ts";
import { readReceiptKey } from "./gateway.ts";
import type { Processes } from "./processes.ts";
import { programs } from "./programs.ts";
import { restoreDeployment, saveDeployment, stateFile } from "./saved.ts";
import { loadSecrets } from "./secrets.ts";
import type { DevnetSettings, PortSetting, Ports } from "./settings.ts";
import { LOCAL_CHAIN_NAMES, type LocalChainName } from "./third-parties/local-chains.ts";

export type Chains = Readonly<Record<LocalChainName, Chain>>;

export type StartChainsOptions = {
  settings: DevnetSettings;
  folder: Folder;
  processes: Processes;
  ports: Ports;
  clock: DevnetClock;
  environment: Readonly<Record<string, string | undefined>>;
  survivesKill: boolean;
  onProgress(line: string): void;
};

const PORTS: Record<LocalChainName, PortSetting> = {
  primary: "CHAIN_PORT",
  secondary1: "SECONDARY1_PORT",
  secondary2: "SECONDARY2_PORT",
};
/** The databases of gateway and keeper, which belong to these chains. */
const BOOKS: readonly FileName[] = [
  ...([
    "gateway.sqlite",
    "gateway.sqlite-wal",
    "gateway.sqlite-shm",
    "keeper.sqlite",
    "keeper.sqlite-journal",
  ] as const),
];

/** Starts the chains with their contracts: the last state, the saved deployment, or new ones. */
export async function startChains(options: StartChainsOptions): Promise<{ chains: Chains; deployment: Deployment }> {
  const { settings, folder, processes, environment, onProgress } = options;
  const chainIds = LOCAL_CHAIN_NAMES.map((name) => settings.chainIds[name]);
  let deployment = keptDeployment(options);
  if (deployment !== undefined) onProgress("Continuing the local chains ...");
  else {
    folder.remove("deployment.json", "agents.json", ...LOCAL_CHAIN_NAMES.map(stateFile), ...BOOKS);
    deployment = restoreDeployment(folder, chainIds);
    onProgress(deployment === undefined ? "Starting new local chains ..." : "Starting the saved local chains ...");
  }
  const started = await Promise.all(LOCAL_CHAIN_NAMES.map((name) => start(options, name)));
  const chains = Object.fromEntries(LOCAL_CHAIN_NAMES.map((name, index) => [name, started[index]])) as Chains;
  const isNew = deployment === undefined;
  if (isNew) onProgress("Deploying the dollars, LayerZero and the contracts ...");
  if (deployment === undefined) {
    const { gatewaySecret: secret } = loadSecrets(folder);
    const receiptKey = await readReceiptKey(processes, { secret, environment });
    deployment = await deploy(chains, receiptKey);
  }
  await Promise.all(started.map((chain) => chain.keep()));
  if (isNew) saveDeployment(folder, deployment, chainIds);
  folder.writeJson("deployment.json", deployment);
  return { chains, deployment };
}

/** Undefined unless the chains and their deployment were kept. */
function keptDeployment({ folder, settings }: StartChainsOptions): Deployment | undefined {
  if (!LOCAL_CHAIN_NAMES.every((name) => folder.has(stateFile(name)))) return undefined;
  const kept = folder.readJson("deployment.json") as Deployment | undefined;
  if (kept === undefined || kept.primary.chainId === settings.chainIds.primary) return kept;
  throw new DevnetError(
    `${folder.path} has primary chain ${kept.primary.chainId}, and PRIMARY_CHAIN_ID is ${settings.chainIds.primary}: ` +
      "begin anew with --fresh.",
  );
}

function start(options: StartChainsOptions, name: LocalChainName): Promise<Chain> {
  const { processes, settings, ports, folder, environment, survivesKill, clock } = options;
  return startChain(processes, {
    program: programs[name],
    chainId: settings.chainIds[name],
    port: ports[PORTS[name]],
    stateFile: folder.file(stateFile(name)),
    ...{ environment, survivesKill },
    now: clock.now,
  });
}
