import type { Chain } from "./chain.ts";
import type { Deployment } from "./deployment.ts";
import { FINALITY_DEPTH } from "./finality.ts";
import type { Folder } from "./folder.ts";
import type { Processes } from "./processes.ts";
import { LOCAL_CHAIN_NAMES, type LocalChainName } from "./third-parties/local-chains.ts";
import { privateKeyOf, roles } from "./wallets.ts";

export type RelayerOptions = {
  chains: Readonly<Record<LocalChainName, Chain>>;
  deployment: Deployment;
  folder: Folder;
  environment: Readonly<Record<string, string | undefined>>;
};

/** Starts LayerZero's verifiers and executor in a process of their own; resolves when they work. */
export async function startRelayer(processes: Processes, options: RelayerOptions): Promise<void> {
  const { chains, deployment, folder, environment } = options;
  folder.writeJson("relayer.json", {
    databaseFile: folder.file("relayer.sqlite"),
    pollMs: 200,
    maxPauseMs: 5_000,
    chains: LOCAL_CHAIN_NAMES.map((name) => {
      const { rpcUrl, chainId } = chains[name];
      const { eid, endpoint, sendLibrary, receiveLibrary, verifiers } = deployment[name].layerZero;
      return {
        ...{ eid, chainId, endpoint, sendLibrary, receiveLibrary, verifiers },
        confirmations: FINALITY_DEPTH,
        startBlock: deployment[name].block,
        // One machine has one node of each chain.
        rpcUrls: { verifiers: [rpcUrl, rpcUrl], executor: rpcUrl },
      };
    }),
  });
  const child = processes.start({
    name: "relayer",
    script: new URL("relayer/main.ts", import.meta.url),
    environment: {
      ...environment,
      RELAYER_FILE: folder.file("relayer.json"),
      VERIFIER_KEY_1: privateKeyOf(roles.verifier1),
      VERIFIER_KEY_2: privateKeyOf(roles.verifier2),
      EXECUTOR_KEY: privateKeyOf(roles.executor),
    },
    logFile: folder.file("relayer.log"),
  });
  await child.says((line) => (line.startsWith('{"event":"relaying"') ? true : undefined));
}
