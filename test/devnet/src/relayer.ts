import { appendFileSync } from "node:fs";
import type { Chains } from "./chains.ts";
import type { Deployment } from "./deployment.ts";
import type { Folder } from "./folder.ts";
import { type Relayer, startRelayer } from "./relayer/relayer.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";
import { roles } from "./wallets.ts";

/** Starts LayerZero's verifiers and executor. They log to `relayer.log`. */
export function relayBetween(
  chains: Chains,
  { deployment, folder }: { deployment: Deployment; folder: Folder },
): Relayer {
  const logFile = folder.file("relayer.log");
  return startRelayer({
    chains: LOCAL_CHAIN_NAMES.map((name) => {
      const { block: startBlock, layerZero } = deployment[name];
      const { rpcUrl, chainId } = chains[name];
      return { ...layerZero, rpcUrl, chainId, startBlock };
    }),
    accounts: { verifiers: [roles.verifier1, roles.verifier2], executor: roles.executor },
    confirmations: chains.primary.finalityDepth,
    pollMs: 1_000,
    maxPauseMs: 5_000,
    log: (entry) =>
      appendFileSync(logFile, `${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`, { mode: 0o600 }),
  });
}
