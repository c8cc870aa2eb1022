import type { GatewayConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import { type Credentials, makeCredentials } from "./identity/credentials.ts";
import { makePriceList, type PriceList } from "./metering/price-list.ts";
import { makeProvider, type Provider } from "./upstream/provider.ts";

/** The parts of a running gateway, made once. Routes and jobs are functions of it. */
export type Gateway = {
  config: GatewayConfig;
  environment: Environment;
  credentials: Credentials;
  provider: Provider;
  prices: PriceList;
};

export function makeGateway(config: GatewayConfig, environment: Environment): Gateway {
  const provider = makeProvider(config.upstream, environment.upstream);
  return {
    config,
    environment,
    credentials: makeCredentials(config.secret, environment.random),
    provider,
    prices: makePriceList(config, environment, provider),
  };
}
