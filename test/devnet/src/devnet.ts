import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Chain } from "./chain.ts";
import { startChains } from "./chains.ts";
import { type DevnetClock, openClock } from "./clock.ts";
import { devnetCommands } from "./commands.ts";
import { startComputers } from "./computers.ts";
import { startControl } from "./control.ts";
import { activate, awaitCredit, exampleModel, readBalance, requestApiKey } from "./customer.ts";
import { contract, type Deployment } from "./deployment.ts";
import { DevnetError } from "./devnet-error.ts";
import { clearFolder, type Folder, openFolder } from "./folder.ts";
import { checkProvider, providerSettings, startGateway } from "./gateway.ts";
import { startKeeper } from "./keeper.ts";
import { pageWalletScript } from "./page-wallet.ts";
import { choosePorts } from "./ports.ts";
import { createProcesses, type Processes } from "./processes.ts";
import { setProviderTime, simulatorSettings, simulatorStaking, startProvider } from "./provider.ts";
import { followPool } from "./provider-staking.ts";
import { curlLine, type ReadyFile } from "./ready.ts";
import { relayBetween } from "./relayer.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";
import { type DevnetSettings, type Ports, readSettings } from "./settings.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";
import { privateKeyOf, wallets } from "./wallets.ts";

export type Devnet = {
  readonly ready: ReadyFile;
  /** A request to paste into a shell. */
  readonly curl: string;
  readonly readyFile: string;
  readonly processes: readonly { name: string; pid: number }[];
  /** Resolves after the unexpected end of a process, when the others have been stopped. */
  readonly failure: Promise<DevnetError>;
  /** Stops the relayer between the chains. Answers what starts it again, where it stopped. */
  haltRelayer(): Promise<() => void>;
  /** Stops everything, the gateway first. */
  stop(): Promise<void>;
};

export type DevnetOptions = {
  /** The settings of `npm start`: the devnet's own and the gateway's. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Forgets the state of earlier starts. */
  fresh?: boolean;
  /** False: the chains are saved only at the start and the stop, which costs less. */
  survivesKill?: boolean;
  onProgress?(line: string): void;
  /** Ends a start that is under way. */
  signal?: AbortSignal;
};

/** The first wallet's activation, in 1e-6 USD. */
export const ACTIVATED_AMOUNT = 25_000_000n;

/** Starts everything, or continues after a stop. If it throws {@link DevnetError}, nothing is left running. */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  const settings = readSettings(options.environment);
  for (const line of settings.unheard) options.onProgress?.(line);
  const folder = openFolder(settings.folder);
  const processes = createProcesses(folder);
  const closing = new AbortController();
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    closing.abort();
    stopped ??= processes.stop().finally(() => {
      folder.remove("ready.json");
      folder.release();
    });
    return stopped;
  };
  const broken = Promise.race([processes.failure, aborted(options.signal)]);
  try {
    if (options.fresh === true) clearFolder(folder);
    folder.remove("ready.json");
    const ports = await choosePorts(settings.ports);
    const clock = openClock(folder);
    const site: Site = { options, settings, folder, processes, ports, clock, closing: closing.signal };
    const started = await Promise.race([start(site), broken.then((error) => Promise.reject(error))]);
    return {
      ...started,
      readyFile: folder.file("ready.json"),
      get processes() {
        return processes.children.map(({ name, pid }) => ({ name, pid }));
      },
      failure: processes.failure.then(async (error) => {
        await stop();
        return error;
      }),
      stop,
    };
  } catch (error) {
    // A process that died is the cause of other errors, and may be noticed after them.
    const cause =
      processes.children.length === 0 ? undefined : await Promise.race([processes.failure, sleep(CAUSE_MS)]);
    await stop();
    throw cause ?? error;
  }
}

const CAUSE_MS = 200;

type Site = {
  options: DevnetOptions;
  settings: DevnetSettings;
  folder: Folder;
  processes: Processes;
  ports: Ports;
  clock: DevnetClock;
  /** Aborted when the devnet begins to stop. */
  closing: AbortSignal;
};

async function start(given: Site): Promise<Pick<Devnet, "ready" | "curl" | "haltRelayer">> {
  let site = given;
  const { options, settings, folder, processes, clock } = site;
  const { environment, onProgress = () => {} } = options;
  const upstream = startUpstream(site);
  // Reported below, where it is awaited.
  upstream.catch(() => {});
  const named = providerSettings(environment);
  if (named.length > 0) {
    onProgress(`Checking ${named.join(", ")} ...`);
    await checkProvider({
      environment: { ...environment, ...(await upstream).gatewaySettings },
      logFile: folder.file("gateway.log"),
      onProgress,
      signal: options.signal,
    });
    // During the check another process may have taken a free port. The simulator has its own already.
    const { PROVIDER_PORT } = site.ports;
    site = { ...site, ports: { ...(await choosePorts({ ...settings.ports, PROVIDER_PORT: 0 })), PROVIDER_PORT } };
  }
  const { ports } = site;
  const { survivesKill = true } = options;
  const { chains, deployment } = await startChains({ ...site, environment, survivesKill, onProgress });
  const chain = chains.primary;
  const secrets = loadSecrets(folder);
  const relay = { port: ports.RELAY_PORT, secret: secrets.gatewaySecret };
  const workers = { chains, deployment, folder, environment, clock, relay };
  const { url: providerUrl, gatewaySettings } = await upstream;

  onProgress("Starting relayer, keeper and gateway ...");
  const [wallet] = wallets;
  if (wallet === undefined) throw new DevnetError("There is no wallet.");
  writeFileSync(folder.file("dashboard-wallet.js"), pageWalletScript(LOCAL_CHAIN_NAMES.map((name) => chains[name])));
  const gatewayUrl = `http://127.0.0.1:${ports.GATEWAY_PORT}`;
  let relayer = relayBetween(chains, { deployment, folder });
  site.closing.addEventListener("abort", () => void relayer.stop());
  await Promise.all([
    processes.startTimed(() =>
      startGateway(processes, {
        port: ports.GATEWAY_PORT,
        secret: secrets.gatewaySecret,
        ...{ chains, deployment, clock },
        databaseFile: folder.file("gateway.sqlite"),
        relayPort: ports.RELAY_PORT,
        walletScript: folder.file("dashboard-wallet.js"),
        environment: { ...environment, ...gatewaySettings },
      }),
    ),
    activate(chain, { deployment: deployment.primary, wallet, amount: ACTIVATED_AMOUNT }),
    processes.startTimed(() => startKeeper(processes, workers)),
  ]);
  const apiKey = await apiKeyFor(site, { gatewayUrl, secrets });
  const staking =
    settings.upstream === undefined ? stakeWithSimulator(site, { chain, deployment, providerUrl }) : undefined;
  const provider = async (): Promise<void> => {
    await setProviderTime(providerUrl, clock);
    await staking?.sync();
  };
  const changed = (): void => {
    ready.clockOffsetMs = clock.offsetMs;
    folder.writeJson("ready.json", ready);
  };
  const computers = await startComputers({ processes, folder, gatewayUrl, environment });
  const control = await startControl(
    devnetCommands({
      chains,
      deployment,
      clock,
      processes,
      computers,
      changed,
      ...(staking === undefined ? {} : { provider }),
    }),
  );
  site.closing.addEventListener("abort", control.close);
  const ready: ReadyFile = {
    gatewayUrl,
    apiKey,
    chains: LOCAL_CHAIN_NAMES.map((name) => {
      const { chainId, rpcUrl } = chains[name];
      const { layerZero, stablecoin } = deployment[name];
      return { name, chainId, eid: layerZero.eid, rpcUrl, stablecoin };
    }),
    contracts: Object.fromEntries(LOCAL_CHAIN_NAMES.map((name) => [name, deployment[name].contracts])),
    wallets: wallets.map((each) => ({
      address: each.address,
      privateKey: privateKeyOf(each),
      activated: each === wallet,
    })),
    provider: { url: providerUrl },
    clockOffsetMs: clock.offsetMs,
    control: control.address,
  };
  const curl = curlLine(ready, await exampleModel(gatewayUrl));
  folder.writeJson("ready.json", ready);
  const haltRelayer = async (): Promise<() => void> => {
    await relayer.stop();
    return () => {
      relayer = relayBetween(chains, { deployment, folder });
    };
  };
  return { ready, curl, haltRelayer };
}

/** The simulator's allowance follows the pool of the primary chain. */
function stakeWithSimulator(
  { clock, processes, closing }: Site,
  { chain, deployment, providerUrl }: { chain: Chain; deployment: Deployment; providerUrl: string },
): ReturnType<typeof followPool> {
  const staking = followPool({
    ...{ rpcUrl: chain.rpcUrl, pool: contract(deployment.primary, "inferencePool"), now: clock.now },
    startBlock: deployment.primary.block,
    staking: simulatorStaking(providerUrl),
    onError: (message) => processes.fail(new DevnetError(message)),
  });
  closing.addEventListener("abort", staking.stop);
  return staking;
}

/** The user's own provider, else the simulator. */
async function startUpstream(site: Site): Promise<{ url: string; gatewaySettings: Record<string, string> }> {
  const { options, settings, folder, processes, ports, clock } = site;
  if (settings.upstream !== undefined) return { url: settings.upstream.url, gatewaySettings: {} };
  options.onProgress?.("Starting the provider simulator ...");
  // A new simulator does not know the gateway's keys.
  folder.remove("gateway.sqlite-kv", "gateway.sqlite-kv-wal", "gateway.sqlite-kv-shm");
  const { providerKey: key, providerAdminKey: adminKey } = loadSecrets(folder);
  const url = await startProvider(processes, {
    port: ports.PROVIDER_PORT,
    key,
    adminKey,
    clock,
    environment: options.environment,
  });
  return { url, gatewaySettings: simulatorSettings(url, { key, adminKey }) };
}

/** The key of an earlier start if it is valid, else a new one of an account with credit. */
async function apiKeyFor(
  { options, folder, settings, clock }: Site,
  { gatewayUrl, secrets }: { gatewayUrl: string; secrets: Secrets },
): Promise<string> {
  const { apiKey } = secrets;
  if (apiKey !== undefined && (await readBalance(gatewayUrl, apiKey)) !== undefined) return apiKey;
  options.onProgress?.("Activating 25 dollars and signing for an API key ...");
  const [wallet] = wallets;
  if (wallet === undefined) throw new DevnetError("There is no wallet.");
  const made = await requestApiKey({
    gatewayUrl,
    chainId: settings.chainIds.primary,
    wallet,
    name: "devnet",
    now: clock.now(),
  });
  await awaitCredit(gatewayUrl, made);
  folder.writeJson("secrets.json", { ...secrets, apiKey: made });
  return made;
}

function aborted(signal: AbortSignal | undefined): Promise<DevnetError> {
  return new Promise((resolve) => {
    const end = (): void => resolve(new DevnetError("Stopped."));
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
