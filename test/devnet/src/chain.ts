import { existsSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { foundryPath } from "@inference/contracts/forge";
import { createTestClient, http, publicActions } from "viem";
import type { Child } from "./child.ts";
import { DevnetError, oneLine } from "./devnet-error.ts";
import { type Finality, type FinalityOptions, finalityDepth, keepFinal } from "./finality.ts";
import type { Processes } from "./processes.ts";
import type { Program } from "./programs.ts";
import { ACCOUNTS } from "./wallets.ts";

export type Chain = {
  readonly chainId: number;
  readonly rpcUrl: string;
  /** How far below the latest block the finalized one is. */
  readonly finalityDepth: number;
  /** Saves blocks from now on, and makes each final once it is saved. */
  keep(): Promise<void>;
  /** The time of the latest block, in seconds since the epoch. */
  timestamp(): Promise<number>;
  /** Makes the next block at this time (seconds since the epoch), and makes it final. Only after `keep`. */
  goTo(timestamp: number): Promise<void>;
};

export type ChainOptions = {
  program: Program;
  chainId: number;
  port: number;
  /** The chain's state. The chain continues from an existing file. */
  stateFile: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** The devnet's time, if it is not the machine's. */
  now?(): number;
  /** Saves each final block. Otherwise the chain is saved when it begins and when it stops. */
  survivesKill: boolean;
  /** The pace of an idle chain's blocks, in place of the usual. */
  idleBlocks?: FinalityOptions["idleBlocks"];
};

const START_MS = 10_000;

/** A local chain in a process of its own. */
export async function startChain(processes: Processes, options: ChainOptions): Promise<Chain> {
  const { program, chainId, port, stateFile, environment, now = Date.now } = options;
  const rpcUrl = `http://127.0.0.1:${port}`;
  const child = processes.start(program, {
    args: [foundryPath("anvil"), ...anvilArguments(options)],
    environment,
    explain: (line) =>
      line.includes("for '--load-state") ? `${stateFile} is damaged: begin anew with npm start -- --fresh.` : undefined,
  });
  const client = createTestClient({ mode: "anvil", transport: http(rpcUrl, { timeout: 60_000 }) }).extend(
    publicActions,
  );
  await Promise.race([answers(() => client.getChainId(), child), child.ended.then((error) => Promise.reject(error))]);
  const actual = await client.getChainId();
  if (actual !== chainId) throw new DevnetError(`The chain at ${rpcUrl} has id ${actual}, not ${chainId}.`);

  const timestamp = async (): Promise<number> => Number((await client.getBlock()).timestamp);
  // Anvil continues at the machine's time, also if the last block is later.
  const aheadSeconds = Math.max(await timestamp(), Math.floor(now() / 1_000)) - Math.floor(Date.now() / 1_000);
  if (aheadSeconds > 0) await client.increaseTime({ seconds: aheadSeconds });
  let finality: Finality | undefined;

  const save = async (): Promise<void> => writeState(stateFile, await client.dumpState());
  return {
    chainId,
    rpcUrl,
    finalityDepth: finalityDepth(options),
    async keep() {
      const kept = await keepFinal({
        ...{ rpcUrl, now },
        mine: (blocks) => client.mine({ blocks }),
        setNextTimestamp: (seconds) => client.setNextBlockTimestamp({ timestamp: BigInt(seconds) }),
        setAutomine: (isOn) => client.setAutomine(isOn),
        save,
        survivesKill: options.survivesKill,
        ...(options.idleBlocks === undefined ? {} : { idleBlocks: options.idleBlocks }),
        onError: (error) => processes.fail(new DevnetError(`The chain's state cannot be kept: ${oneLine(error)}`)),
      });
      // A dead chain cannot be saved again.
      processes.beforeStop(child, () => kept.stop().catch(() => {}));
      finality = kept;
    },
    timestamp,
    async goTo(seconds) {
      if (finality === undefined) throw new TypeError("the chain is not kept yet");
      await finality.goTo(seconds);
    },
  };
}

function anvilArguments({ chainId, port, stateFile, survivesKill }: ChainOptions): string[] {
  return [
    ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(chainId), "--quiet"],
    // The finalized block is two epochs below the latest.
    ...["--hardfork", "cancun", "--slots-in-an-epoch", String(finalityDepth({ survivesKill }) / 2)],
    ...["--accounts", String(ACCOUNTS)],
    // Keeps the states of old blocks in memory, and so off the disk.
    ...["--prune-history", "1000"],
    ...(existsSync(stateFile) ? ["--load-state", stateFile] : []),
  ];
}

async function answers(ask: () => Promise<unknown>, child: Child): Promise<void> {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if ((await ask().catch(() => undefined)) !== undefined) return;
    await sleep(10);
  }
  throw new DevnetError(`The ${child.name} does not answer.`);
}

/** Writes a state, which anvil dumps as hex of gzip and reads as JSON. A kill leaves the old file or the new one. */
async function writeState(file: string, state: string): Promise<void> {
  const json = await promisify(gunzip)(Buffer.from(state.slice(2), "hex"));
  const draft = `${file}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(json);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
