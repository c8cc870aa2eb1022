import type { Chain } from "./chain.ts";
import type { Crew } from "./crew.ts";
import { type ChainDeployment, contract } from "./deployment.ts";

type OwnSite = {
  port: number;
  secret: string;
  chain: Pick<Chain, "rpcUrl" | "chainId">;
  deployment: Pick<ChainDeployment, "block" | "contracts">;
  databaseFile: string;
};
export type GatewayOptions = OwnSite & {
  logFile: string;
  /** The user's own settings and those of the upstream. */
  environment: Readonly<Record<string, string | undefined>>;
};

/** Starts the gateway in a process of its own; resolves to its URL when it listens. */
export async function startGateway(crew: Crew, options: GatewayOptions): Promise<string> {
  const { environment, logFile } = options;
  const own = ownSettings(options);
  const child = crew.start({
    name: "gateway",
    script: new URL("../../hosts/node/src/main.ts", import.meta.url),
    environment: { CHAIN_POLL_MS: "500", ...environment, ...own },
    logFile,
  });
  return child.says((line) => (line.startsWith('{"event":"listening"') ? own.BASE_URL : undefined));
}

/** What nobody else says: `settings.ts` refuses it by name, or tells that it is not read. */
export function ownSettings({ port, secret, chain, deployment, databaseFile }: OwnSite) {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    GATEWAY_SECRET: secret,
    DATABASE_FILE: databaseFile,
    PRIMARY_RPC_URL: chain.rpcUrl,
    PRIMARY_CHAIN_ID: String(chain.chainId),
    SETTLEMENT_ADDRESS: contract(deployment, "inferenceSettlement"),
    SETTLEMENT_START_BLOCK: String(deployment.block),
    TOKEN_ADDRESS: contract(deployment, "inferenceToken"),
    MINTER_ADDRESS: contract(deployment, "tokenMinter"),
    STABLECOIN_ADDRESS: contract(deployment, "stablecoin"),
    BRIDGE_ADDRESS: contract(deployment, "tokenBridge"),
    POOL_ADDRESS: contract(deployment, "inferencePool"),
    REGISTRY_ADDRESS: contract(deployment, "agentRegistry"),
  };
}
