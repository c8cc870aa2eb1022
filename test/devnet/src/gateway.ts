import { ownValue } from "@inference/protocol/own-value";
import { type Hex, zeroAddress } from "viem";
import type { Chain } from "./chain.ts";
import { type Child, startChild } from "./child.ts";
import { clockEnvironment, type DevnetClock } from "./clock.ts";
import { type ChainDeployment, contract } from "./deployment.ts";
import type { Processes } from "./processes.ts";
import { programs } from "./programs.ts";
import { LOCAL_CHAIN_NAMES, type LocalChainName } from "./third-parties/local-chains.ts";
import { privateKeyOf, roles } from "./wallets.ts";

type OwnSite = {
  port: number;
  secret: string;
  chains: Readonly<Record<LocalChainName, Pick<Chain, "rpcUrl" | "chainId">>>;
  deployment: Readonly<
    Record<LocalChainName, Pick<ChainDeployment, "block" | "contracts" | "layerZero" | "stablecoin">>
  >;
  databaseFile: string;
  relayPort: number;
};
type Environment = Readonly<Record<string, string | undefined>>;
export type GatewayOptions = OwnSite & {
  clock: DevnetClock;
  /** The user's own settings and those of the upstream. */
  environment: Environment;
  /** A file with the dashboard's development wallets. */
  walletScript: string;
};

/** Starts the gateway; resolves when it listens. */
export async function startGateway(processes: Processes, options: GatewayOptions): Promise<Child> {
  const { environment, clock, walletScript } = options;
  const child = processes.start(programs.gateway, {
    environment: {
      ...{ CHAIN_POLL_MS: "1000", POST_USD: "0.01", POST_MIN_USD: "0", POST_INTERVAL_MS: "5000" },
      ...{ DASHBOARD_SCRIPT: walletScript, ...environment, ...ownSettings(options), ...clockEnvironment(clock) },
    },
  });
  await child.ready();
  return child;
}

/** The public key of the receipts of a gateway with this secret, as `npm run gateway -- receipt-key` prints it. */
export async function readReceiptKey(
  processes: Processes,
  { secret, environment }: { secret: string; environment: Environment },
): Promise<Hex> {
  const program = { ...programs.gateway, mayEnd: true };
  const settings = { ...environment, GATEWAY_SECRET: secret };
  const child = processes.start(program, { args: ["receipt-key"], environment: settings });
  const key = await child.says((line) => parsedLine(line).receiptKey);
  await processes.end(child);
  return key;
}

/** Settings of the provider. They can be checked before there is a chain. */
const PROVIDER_SETTINGS = /^(UPSTREAM_\w+|PRICES_FILE|MODEL_ALIASES)$/;

/** The provider's settings that the user has set. */
export function providerSettings(environment: Environment): string[] {
  return Object.keys(environment).filter((name) => PROVIDER_SETTINGS.test(name) && ownValue(environment, name));
}

/** Checks the provider of the user's settings: its key, its prices and the names of its models. Throws `DevnetError`. */
export async function checkProvider(options: {
  /** The user's own settings and those of the upstream. */
  environment: Environment;
  logFile: string;
  onProgress(line: string): void;
  signal: AbortSignal | undefined;
}): Promise<void> {
  const { environment, logFile, onProgress, signal } = options;
  // There is no chain yet, and `--check` reads none.
  const own = {
    BASE_URL: "http://127.0.0.1",
    GATEWAY_SECRET: "00".repeat(32),
    DATABASE_FILE: "unused",
    PORT: "0",
    PRIMARY_RPC_URL: "http://127.0.0.1:1",
    PRIMARY_CHAIN_ID: "1",
    SETTLEMENT_ADDRESS: zeroAddress,
  };
  const child = startChild(programs.gateway, { args: ["--check"], environment: { ...environment, ...own }, logFile });
  const stop = (): void => void child.stop(0);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await child.says((line) => {
      const { event, alias, model } = parsedLine(line);
      if (event === "alias")
        onProgress(`MODEL_ALIASES: the provider does not list ${model}, which is called ${alias}.`);
      return event === "checked" ? true : undefined;
    });
    await child.ended;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function parsedLine(line: string): { event?: string; alias?: string; model?: string; receiptKey?: Hex } {
  return line.startsWith("{") ? (JSON.parse(line) as { event?: string }) : {};
}

/** The gateway's settings that the devnet decides. `settings.ts` refuses them by name. */
export function ownSettings({ port, secret, chains, deployment: { primary, ...others }, ...site }: OwnSite) {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    GATEWAY_SECRET: secret,
    DATABASE_FILE: site.databaseFile,
    WEBHOOK_TARGETS: "local",
    RELAY_URL: `http://127.0.0.1:${site.relayPort}`,
    RELAY_SECRET: secret,
    PRIMARY_RPC_URL: chains.primary.rpcUrl,
    PRIMARY_CHAIN_ID: String(chains.primary.chainId),
    SETTLEMENT_ADDRESS: contract(primary, "inferenceSettlement"),
    SETTLEMENT_START_BLOCK: String(primary.block),
    TOKEN_ADDRESS: contract(primary, "inferenceToken"),
    MINTER_ADDRESS: contract(primary, "tokenMinter"),
    STABLECOIN_ADDRESS: contract(primary, "stablecoin"),
    BRIDGE_ADDRESS: contract(primary, "tokenBridge"),
    SETTLER_PRIVATE_KEY: privateKeyOf(roles.settler),
    POOL_ADDRESS: contract(primary, "inferencePool"),
    REGISTRY_ADDRESS: contract(primary, "agentRegistry"),
    SECONDARY_RPC_URLS: JSON.stringify({
      [chains.secondary1.chainId]: chains.secondary1.rpcUrl,
      [chains.secondary2.chainId]: chains.secondary2.rpcUrl,
    }),
    CHAINS: JSON.stringify(
      LOCAL_CHAIN_NAMES.map((name) => {
        const { block, contracts: addresses, layerZero, stablecoin } = { primary, ...others }[name];
        const { chainId, rpcUrl } = chains[name];
        return { name, chainId, eid: layerZero.eid, rpcUrl, stablecoin, block, addresses };
      }),
    ),
  };
}
