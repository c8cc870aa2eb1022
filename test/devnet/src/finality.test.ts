import { ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { startChain } from "./chain.ts";
import { choosePorts } from "./ports.ts";
import { createProcesses } from "./processes.ts";
import { programs } from "./programs.ts";
import { readSettings } from "./settings.ts";
import { readBlock } from "./testing/api.ts";
import { anyPorts, temporaryFolder } from "./testing/launch.ts";

test("an idle chain's time goes on, and no block is final that a sudden end would lose", async () => {
  const folder = temporaryFolder();
  const processes = createProcesses({ file: (name) => join(folder.path, name) });
  const { CHAIN_PORT: port } = await choosePorts(readSettings({ ...anyPorts, DEVNET_DIR: folder.path }).ports);
  const stateFile = join(folder.path, "chain.json");
  const environment = process.env;
  const idleBlocks = { leastMs: 20, mostMs: 20 };
  const options = { program: programs.primary, chainId: 31337, port, stateFile };
  try {
    const chain = await startChain(processes, { ...options, environment, idleBlocks, survivesKill: true });
    await chain.keep();
    const first = await readBlock(chain.rpcUrl, "latest");
    await eventually(async () => {
      const final = await readBlock(chain.rpcUrl, "finalized");
      ok(savedBlock(stateFile) >= final.number, `${final.number} is final, and ${savedBlock(stateFile)} saved`);
      // A block's time is in whole seconds.
      return final.number > first.number + 8 && final.timestamp > first.timestamp;
    });
    const last = await readBlock(chain.rpcUrl, "latest");
    await processes.stop();
    ok(savedBlock(stateFile) >= last.number, "it is saved when it stops");
  } finally {
    await processes.stop();
    folder.remove();
  }
});

/** The latest block in a saved state. */
function savedBlock(file: string): number {
  const { best_block_number } = JSON.parse(readFileSync(file, "utf8")) as { best_block_number: number | string };
  return Number(best_block_number);
}
