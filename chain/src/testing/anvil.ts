import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A local chain in a process of its own. */
export type Anvil = AsyncDisposable & {
  rpcUrl: string;
  /** Throws what the node answers if it is an error. */
  rpc<T = unknown>(method: string, params?: readonly unknown[]): Promise<T>;
  stop(): Promise<void>;
};

/** How far below the latest block the finalized one is. */
export const FINALITY_DEPTH = 8;

export async function startAnvil(chainId = 31337): Promise<Anvil> {
  const port = await freePort();
  const slots = String(FINALITY_DEPTH / 2);
  const args = ["--port", String(port), "--chain-id", String(chainId), "--slots-in-an-epoch", slots, "--quiet"];
  const child = spawn(anvilPath(), args, { stdio: "ignore" });
  const rpcUrl = `http://127.0.0.1:${port}`;
  const rpc = async <T>(method: string, params: readonly unknown[] = []): Promise<T> => {
    const answer = await post(rpcUrl, { jsonrpc: "2.0", id: 1, method, params });
    if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result as T;
  };
  const stopped = () => stop(child);
  const anvil: Anvil = { rpcUrl, rpc, stop: stopped, [Symbol.asyncDispose]: stopped };
  try {
    await answers(anvil, child);
  } catch (error) {
    await anvil.stop();
    throw error;
  }
  return anvil;
}

export async function post(url: string, body: object): Promise<{ result?: unknown; error?: unknown }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { result?: unknown; error?: unknown };
}

async function answers(anvil: Anvil, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`anvil exited with ${child.exitCode}`);
    const answered = await anvil.rpc("eth_chainId").catch(() => undefined);
    if (answered !== undefined) return;
    await sleep(20);
  }
  throw new Error("anvil does not answer");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

function anvilPath(): string {
  return fileURLToPath(new URL("../../../node_modules/.bin/anvil", import.meta.url));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
