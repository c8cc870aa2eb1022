import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startEmptyChain } from "@inference/gateway/test/chaos/empty-chain";
import type { TestAccount } from "@inference/gateway/test/fund";
import { eventually } from "@inference/protocol/testing/eventually";

/** A program of ours as a process of its own. */
export type Running = {
  child: ChildProcess;
  /** The line on stdout by which it said that it is ready. */
  ready: string;
  stderr(): string;
  /** Everything it has said on stdout. */
  stdout(): string;
  /** Resolves when it is gone. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Kills it, if it still runs, and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

export type Launched = Omit<Running, "ready"> & { ready: Promise<string> };

export type Program = {
  /** Relative to this folder. */
  script: string;
  args?: readonly string[];
  env?: Record<string, string>;
  /** A command that runs the program: the program's own command follows its words. */
  under?: readonly string[];
};

/** Starts a program without waiting for anything. */
export function launch({ script, args = [], env = {}, under = [] }: Program): Launched {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const words = [...under, process.execPath, "--disable-warning=ExperimentalWarning", path, ...args];
  const child = spawn(words[0] ?? "", words.slice(1), {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
  });
  let stdout = "";
  let stderr = "";
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const end = stdout.indexOf("\n");
      if (end >= 0) resolve(stdout.slice(0, end));
    });
    child.once("exit", (code, signal) => reject(new Error(`${script} ended (${code ?? signal}): ${stderr}`)));
  });
  // A caller may not wait for it.
  ready.catch(() => undefined);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // `close` comes after all output, `exit` may come before.
  const ended = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  return {
    child,
    ready,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    kill(signal = "SIGKILL") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
}

/** Starts a program and waits until it says that it is ready. */
export async function start(program: Program): Promise<Running> {
  const running = launch(program);
  return { ...running, ready: await running.ready };
}

/** The key of every provider here. */
export const MASTER_KEY = "provider-master-key";

/** The chain of every gateway here. */
const chain = await startEmptyChain(1_000_000_000_000_000);

/** The settings of a gateway on a chain on which nothing has happened. */
export function gatewayEnvironment(options: {
  databaseFile: string;
  secret: string;
  provider: { url: string };
}): Record<string, string> {
  const { databaseFile, secret, provider } = options;
  return {
    BASE_URL: "http://gateway.test",
    GATEWAY_SECRET: secret,
    DATABASE_FILE: databaseFile,
    PORT: "0",
    UPSTREAM_BASE_URL: provider.url,
    UPSTREAM_API_KEY: MASTER_KEY,
    UPSTREAM_PROBE: "off",
    UPSTREAM_CHAT_EXTRAS: '{"venice_parameters":{"include_venice_system_prompt":false}}',
    PRIMARY_RPC_URL: chain.rpcUrl,
    // Read once, at the start. Then nothing but requests makes commits.
    CHAIN_POLL_MS: "3600000",
    PRIMARY_CHAIN_ID: "31337",
    SETTLEMENT_ADDRESS: `0x${"5".repeat(40)}`,
  };
}

/** Where a gateway process said that it listens. */
export function gatewayUrl(ready: string): string {
  return (JSON.parse(ready) as { url: string }).url;
}

type Asked = { stream?: boolean; maxTokens?: number; content?: string; headers?: Record<string, string> };

/** A small request of a key. */
export function askFor(
  url: string,
  key: string,
  { stream = false, maxTokens = 50, content = "hi", headers }: Asked = {},
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "sim-small", max_tokens: maxTokens, stream, messages: [{ role: "user", content }] }),
  });
}

/** Waits until the sweeper has ended what the last death left, and only requests make commits. */
export async function nothingHeld(gateway: Running, keys: readonly TestAccount[]): Promise<void> {
  for (const { key } of keys) {
    await eventually(async () => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${gatewayUrl(gateway.ready)}/api/v1/credits`, { headers });
      const { data } = (await response.json()) as { data: { reserved_nano_usd: number } };
      return data.reserved_nano_usd === 0;
    });
  }
}
