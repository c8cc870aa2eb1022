import { type GatewayConfig, limits } from "./config.ts";
import type { Environment } from "./environment.ts";
import { type Credentials, makeCredentials } from "./identity/credentials.ts";
import { type Gate, makeGate } from "./identity/gate.ts";
import { makePriceList, type PriceList } from "./metering/price-list.ts";
import { makeProvider, type Provider } from "./upstream/provider.ts";

/** The parts of a running gateway, made once. Routes and jobs are functions of it. */
export type Gateway = {
  config: GatewayConfig;
  environment: Environment;
  credentials: Credentials;
  /** Through which contracts are asked about signatures. */
  contractSignatures: Gate;
  provider: Provider;
  prices: PriceList;
  /** The ids of the requests that this process is working on: their holds are not the sweeper's. */
  live: Set<string>;
};

export function makeGateway(config: GatewayConfig, environment: Environment): Gateway {
  const provider = makeProvider(config.upstream, environment.upstream);
  return {
    config,
    environment,
    credentials: makeCredentials(config.secret, environment.random),
    contractSignatures: makeGate(limits.contractSignaturesAtOnce, "checks of contract wallets' signatures"),
    provider,
    prices: makePriceList(config, environment, provider),
    live: new Set(),
  };
}
