import type { Chain } from "./chain.ts";
import type { Crew } from "./crew.ts";
import { type ChainDeployment, contract } from "./deployment.ts";

export type GatewayOptions = {
  port: number;
  secret: string;
  chain: Chain;
  deployment: ChainDeployment;
  databaseFile: string;
  logFile: string;
  /** The user's own settings and those of the upstream. */
  environment: Readonly<Record<string, string | undefined>>;
};

/** Starts the gateway in a process of its own; resolves to its URL when it listens. */
export async function startGateway(crew: Crew, options: GatewayOptions): Promise<string> {
  const { port, secret, chain, deployment, databaseFile, logFile, environment } = options;
  const url = `http://127.0.0.1:${port}`;
  const child = crew.start({
    name: "gateway",
    script: new URL("../../hosts/node/src/main.ts", import.meta.url),
    environment: {
      CHAIN_POLL_MS: "500",
      ...environment,
      HOST: "127.0.0.1",
      PORT: String(port),
      BASE_URL: url,
      GATEWAY_SECRET: secret,
      DATABASE_FILE: databaseFile,
      PRIMARY_RPC_URL: chain.rpcUrl,
      PRIMARY_CHAIN_ID: String(chain.chainId),
      SETTLEMENT_ADDRESS: contract(deployment, "inferenceSettlement"),
      SETTLEMENT_START_BLOCK: String(deployment.block),
      TOKEN_ADDRESS: contract(deployment, "inferenceToken"),
      MINTER_ADDRESS: contract(deployment, "tokenMinter"),
      STABLECOIN_ADDRESS: contract(deployment, "stablecoin"),
      POOL_ADDRESS: contract(deployment, "inferencePool"),
      REGISTRY_ADDRESS: contract(deployment, "agentRegistry"),
    },
    logFile,
  });
  return child.says((line) => (line.startsWith('{"event":"listening"') ? url : undefined));
}
