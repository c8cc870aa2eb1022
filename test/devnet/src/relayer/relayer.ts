import type { Log } from "@inference/keeper/log";
import { privateKeyToAccount } from "viem/accounts";
import { connectChain } from "./chain.ts";
import { createExecutor } from "./executor.ts";
import type { ChainSettings, RelayerSettings } from "./settings.ts";
import { openDatabase } from "./store.ts";
import { createVerifier } from "./verifier.ts";
import { startWorker, type Work } from "./worker.ts";

export type Relayer = { stop(): Promise<void> };

/** Starts two verifiers and an executor. They share a file and nothing else: not a node, not a key, not an opinion. */
export function startRelayer(settings: RelayerSettings, options: { now(): number; log: Log }): Relayer {
  const { chains, keys, pollMs, maxPauseMs, overdueMs, databaseFile } = settings;
  const database = openDatabase(databaseFile);
  const settingsOf = new Map(chains.map((chain) => [chain.eid, chain]));
  const chainOf = (eid: number): ChainSettings => {
    const chain = settingsOf.get(eid);
    if (chain === undefined) throw new Error(`no chain has the endpoint id ${eid}`);
    return chain;
  };
  const start = (name: string, worker: { key: `0x${string}`; work: Work; rpcUrl(chain: ChainSettings): string }) =>
    startWorker({
      ...options,
      ...{ name, pollMs, maxPauseMs, overdueMs },
      work: worker.work,
      store: database.store(name),
      chains: chains.map((chain) =>
        connectChain(chain, { rpcUrl: worker.rpcUrl(chain), account: privateKeyToAccount(worker.key) }),
      ),
    });
  const verifiers = ([0, 1] as const).map((index) => {
    const key = keys.verifiers[index];
    const work = createVerifier({
      account: privateKeyToAccount(key),
      contractOn: (eid) => chainOf(eid).verifiers[index],
      confirmationsOf: (eid) => chainOf(eid).confirmations,
    });
    return start(`verifier ${index + 1}`, { key, work, rpcUrl: ({ rpcUrls }) => rpcUrls.verifiers[index] });
  });
  const executor = start("executor", {
    key: keys.executor,
    work: createExecutor(),
    rpcUrl: ({ rpcUrls }) => rpcUrls.executor,
  });
  return {
    async stop() {
      await Promise.all([...verifiers, executor].map((worker) => worker.stop()));
      database.close();
    },
  };
}
