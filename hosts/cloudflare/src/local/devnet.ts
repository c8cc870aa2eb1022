import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { contractSettings, gatewaySettings } from "@inference/gateway/settings";
import { ownValue } from "@inference/protocol/own-value";

/** The parts of a running devnet's `ready.json` and `secrets.json` that are used here. */
type Ready = {
  chains: { name: string; chainId: number; rpcUrl: string; eid?: number; stablecoin?: object }[];
  contracts: Record<string, Record<string, string>>;
  wallets: { privateKey: `0x${string}`; activated: boolean }[];
  provider: { url: string };
};
type Secrets = { gatewaySecret: string; providerKey: string; providerAdminKey: string };

/** Settings of a deployment that are wrong for a new local chain, and that a shell may have. */
const OF_DEPLOYMENTS = ["PRIMARY_ANCHOR", "SETTLEMENT_START_BLOCK", "BASE_URL", "WITNESS_RPC_URL"];

export type DevnetSite = {
  settings: Record<string, string>;
  /** The key of the wallet that has credit. */
  privateKey: `0x${string}`;
  /** The folder of the objects for this devnet. */
  folder: string;
};

/**
 * The settings of a second gateway on a devnet, with the same chain and provider and its own ledger.
 *
 * @param environment Its settings override the devnet's.
 */
export function readDevnet(folder: string, environment: Readonly<Record<string, string | undefined>>): DevnetSite {
  const ready = readJson<Ready>(join(folder, "ready.json"));
  const secrets = readJson<Secrets>(join(folder, "secrets.json"));
  const chain = ready?.chains.find(({ name }) => name === "primary");
  const contracts = ready?.contracts.primary;
  const wallet = ready?.wallets.find(({ activated }) => activated);
  if (ready === undefined || secrets === undefined || !chain || !contracts || !wallet) {
    throw new Error(`No devnet is running in ${folder}: run \`npm start\` in another terminal, and wait for its URL.`);
  }
  const own = Object.fromEntries(
    Object.keys(gatewaySettings.shape).flatMap((name) => {
      const value = ownValue(environment, name);
      return value && !OF_DEPLOYMENTS.includes(name) ? [[name, value]] : [];
    }),
  );
  return {
    settings: {
      CHAIN_POLL_MS: "500",
      GATEWAY_SECRET: secrets.gatewaySecret,
      ...((own.UPSTREAM_PROFILE ?? own.UPSTREAM_BASE_URL) === undefined ? simulator(ready.provider.url, secrets) : {}),
      ...own,
      PRIMARY_RPC_URL: chain.rpcUrl,
      PRIMARY_CHAIN_ID: String(chain.chainId),
      ...Object.fromEntries(
        Object.entries(contractSettings).map(([name, setting]) => [setting, ownValue(contracts, name) ?? ""]),
      ),
      SECONDARY_RPC_URLS: JSON.stringify(
        Object.fromEntries(
          ready.chains.filter((each) => each !== chain).map(({ chainId, rpcUrl }) => [chainId, rpcUrl]),
        ),
      ),
      CHAINS: JSON.stringify(
        ready.chains.map((each) => ({ ...each, addresses: ownValue(ready.contracts, each.name) ?? {} })),
      ),
    },
    privateKey: wallet.privateKey,
    folder: booksOf(folder, secrets.gatewaySecret),
  };
}

/** The folder for a devnet, named after its secret. Removes those of earlier devnets, whose chains are gone. */
function booksOf(folder: string, secret: string): string {
  const name = `edge-${createHash("sha256").update(secret).digest("hex").slice(0, 8)}`;
  for (const other of readdirSync(folder)) {
    if (/^edge-[0-9a-f]{8}$/.test(other) && other !== name) rmSync(join(folder, other), { recursive: true });
  }
  return join(folder, name);
}

function simulator(url: string, { providerKey, providerAdminKey }: Secrets): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: url,
    UPSTREAM_API_KEY: providerKey,
    UPSTREAM_PROFILE: "venice",
    UPSTREAM_RECORD_KEY: providerAdminKey,
  };
}

function readJson<T>(file: string): T | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as T) : undefined;
}
