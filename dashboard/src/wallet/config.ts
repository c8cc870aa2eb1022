import { chainOf } from "@inference/sdk/chain-clients";
import { http, type Transport } from "viem";
import { type Config, createConfig, createStorage } from "wagmi";
import { chainName, type Directory } from "../gateway.ts";

let config: Config | undefined;

/**
 * The wallets that announce themselves (EIP-6963), and the chains that the gateway names. One for the whole page: a
 * directory that is read again with the same chains keeps it.
 */
export function walletConfig({ chains }: Directory): Config {
  const known = config?.chains.map(({ id }) => id).join();
  if (config === undefined || known !== chains.map(({ chain_id: id }) => id).join()) config = makeConfig(chains);
  return config;
}

function makeConfig(chains: Directory["chains"]): Config {
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
