import { chainOf } from "@inference/sdk/chain-clients";
import { http, type Transport } from "viem";
import { type Config, createConfig, createStorage } from "wagmi";
import { chainName, type Directory } from "../gateway.ts";

const made = new WeakMap<Directory, Config>();
let last: Config | undefined;

/**
 * The wallets that announce themselves (EIP-6963), and the chains that the gateway names. One for the whole page: a
 * directory that is read again with the same chains keeps it.
 */
export function walletConfig(directory: Directory): Config {
  const known = made.get(directory) ?? (isSame(last, directory) ? last : undefined);
  const config = known ?? makeConfig(directory);
  made.set(directory, config);
  last = config;
  return config;
}

function makeConfig({ chains }: Directory): Config {
  const [first, ...others] = chains.map((chain) => chainOf(chain, chainName(chain)));
  if (first === undefined) throw new Error("The service names no chain.");
  return createConfig({
    chains: [first, ...others],
    connectors: [],
    multiInjectedProviderDiscovery: true,
    storage: createStorage({ storage: localStorage, key: "wallet" }),
    transports: Object.fromEntries(
      chains.map(({ chain_id: id, rpc_url: url }): [number, Transport] => [id, http(url ?? location.origin)]),
    ),
  });
}

function isSame(config: Config | undefined, { chains }: Directory): boolean {
  const ids = chains.map((chain) => chain.chain_id).join();
  return config?.chains.map(({ id }) => id).join() === ids;
}
