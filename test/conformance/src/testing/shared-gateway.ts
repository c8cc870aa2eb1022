import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { readDocumentedErrors } from "../documented-errors.ts";
import type { Target } from "../target.ts";

type Gateway = Pick<Target, "url" | "wallets" | "agentToken" | "documentedErrors"> & { child: ChildProcess };

let started: Promise<Gateway> | undefined;

after(async () => {
  if (started === undefined) return;
  const { child } = await started;
  const exited = once(child, "exit");
  // It stops when its input ends: also when this process is killed.
  child.stdin?.end();
  const [code] = await exited;
  if (code !== 0) throw new Error(`The gateway under test ended with ${code}.`);
});

/** The one gateway of all test files in this process, in a process of its own. Stopped after the last test. */
export function sharedGateway(): Promise<Gateway> {
  started ??= start();
  return started;
}

async function start(): Promise<Gateway> {
  const program = fileURLToPath(new URL("local-gateway.ts", import.meta.url));
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ready = JSON.parse(await firstLine(child)) as Pick<Target, "url" | "wallets" | "agentToken">;
  return { ...ready, documentedErrors: await readDocumentedErrors(ready.url), child };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("no output to read");
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`The gateway under test did not start: it ended with ${code}.`);
  });
  const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), died])) as [string];
  return line;
}
