import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@inference/protocol/testing/eventually";
import type { ReadyFile } from "../ready.ts";
import { beginWithDeployment, keepDeployment } from "./kept-deployment.ts";

/** A devnet in a process of its own, as `npm start` runs it, on free ports and in a folder of its own. */
export type Launched = {
  pid: number;
  output: { stdout: string; stderr: string };
  exited: Promise<number | null>;
  /** Rejects with what it said if it ends before it is ready. */
  ready(): Promise<ReadyFile>;
  kill(signal: NodeJS.Signals): void;
};

export const anyPorts = { GATEWAY_PORT: "0", CHAIN_PORT: "0", PROVIDER_PORT: "0", RELAY_PORT: "0" };

export type TemporaryFolder = { path: string; remove(): void };

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "devnet-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A folder with a saved deployment, if there is one: for tests that need not deploy. */
export function deployedFolder(): TemporaryFolder {
  const { path, remove } = temporaryFolder();
  beginWithDeployment(path);
  return {
    path,
    remove() {
      keepDeployment(path);
      remove();
    },
  };
}

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const running = new Set<ChildProcess>();

export function launch(folder: string, settings: Record<string, string> = {}, ...flags: string[]): Launched {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main, ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...anyPorts, DEVNET_DIR: folder, ...settings },
  });
  running.add(child);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const exited = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  return {
    pid: child.pid ?? 0,
    output,
    exited,
    async ready() {
      const ended = exited.then(() => Promise.reject(new Error(output.stderr)));
      await Promise.race([eventually(() => output.stdout.includes("Stop ")), ended]);
      return JSON.parse(readFileSync(join(folder, "ready.json"), "utf8")) as ReadyFile;
    },
    kill: (signal) => void child.kill(signal),
  };
}

/** Stops what a failed test left. */
export async function stopLaunched(): Promise<void> {
  for (const child of running) child.kill("SIGKILL");
  await eventually(() => running.size === 0);
}

/** The processes whose command line or environment names the folder: a devnet's children are told where to write. */
export function processesOf(folder: string): { pid: number; command: string }[] {
  return processIds().flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
      return command !== "" && environment.includes(folder) ? [{ pid, command }] : [];
    } catch {
      // It ended while we looked.
      return [];
    }
  });
}

function processIds(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}
