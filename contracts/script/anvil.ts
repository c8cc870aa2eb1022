/** A local chain: empty, or a fork of another. */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { foundryPath } from "./forge.ts";
import { freePort } from "./free-port.ts";

export interface Anvil extends AsyncDisposable {
  readonly rpcUrl: string;
}

export interface AnvilOptions {
  /** The node of the chain to fork. */
  readonly forkUrl?: string;
  /** The finalized block is twice as many blocks below the latest. The default is 32. */
  readonly slotsInAnEpoch?: number;
}

/** Starts anvil on a free port and resolves when it answers. Throws if it does not start. */
export async function startAnvil(chainId: number, { forkUrl, slotsInAnEpoch }: AnvilOptions = {}): Promise<Anvil> {
  const port = await freePort();
  const rpcUrl = `http://127.0.0.1:${port}`;
  const args = ["--port", String(port), "--chain-id", String(chainId), "--hardfork", "cancun", "--quiet"];
  if (slotsInAnEpoch !== undefined) args.push("--slots-in-an-epoch", String(slotsInAnEpoch));
  if (forkUrl !== undefined) args.push("--fork-url", forkUrl);
  const child = spawn(foundryPath("anvil"), args, { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  const failure = new Promise<never>((_, reject) => {
    child.once("error", (error) => reject(new Error(`anvil did not start: ${error.message}`)));
    child.once("exit", (code) => reject(new Error(`anvil exited with ${code}`)));
  });
  failure.catch(() => {});
  await Promise.race([failure, answers(rpcUrl)]);
  return { rpcUrl, [Symbol.asyncDispose]: () => stop(child) };
}

async function answers(rpcUrl: string): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
  const headers = { "content-type": "application/json" };
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const response = await fetch(rpcUrl, { method: "POST", headers, body }).catch(() => undefined);
    if (response?.ok) return;
    await sleep(10);
  }
  throw new Error("anvil does not answer");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGINT");
  await exited;
}
