import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Address, Hex } from "viem";
import { type DocumentedErrors, readDocumentedErrors } from "./documented-errors.ts";
import { type Front, frontNamed } from "./front.ts";

/** The gateway that is held against the rules: any that runs, with the provider simulator behind it. */
export type Target = {
  url: string;
  /** Private keys. Their accounts have credit: 20 dollars each do for `npm test`. */
  wallets: readonly Hex[];
  /** An agent token that the first wallet owns; null where there is none. */
  agentToken: Address | null;
  /** What answers before it to what is no HTTP; null where every answer is the gateway's own. */
  front: Front | null;
  documentedErrors: DocumentedErrors;
  /** What to undo on a gateway that goes on after the tests. */
  undo: (() => Promise<void>)[];
  close(): Promise<void>;
};

/** The one that the environment names (see the README), else one of its own, in a process of its own. */
export async function openTarget(): Promise<Target> {
  const { CONFORMANCE_URL: url, CONFORMANCE_WALLETS: wallets, CONFORMANCE_AGENT: agent } = process.env;
  const { CONFORMANCE_FRONT: front } = process.env;
  if (url === undefined) return startLocalTarget();
  if (wallets === undefined) throw new Error("CONFORMANCE_WALLETS is missing: private keys, with commas between them.");
  const undo: Target["undo"] = [];
  return {
    url: url.replace(/\/$/, ""),
    documentedErrors: await readDocumentedErrors(url.replace(/\/$/, "")),
    wallets: wallets.split(",") as Hex[],
    agentToken: (agent as Address | undefined) ?? null,
    front: front === undefined ? null : frontNamed(front),
    undo,
    async close() {
      for (const step of undo) await step();
    },
  };
}

async function startLocalTarget(): Promise<Target> {
  const program = fileURLToPath(new URL("testing/local-gateway.ts", import.meta.url));
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ready = JSON.parse(await firstLine(child)) as Pick<Target, "url" | "wallets" | "agentToken">;
  return {
    ...ready,
    front: null,
    documentedErrors: await readDocumentedErrors(ready.url),
    undo: [],
    async close() {
      const exited = once(child, "exit");
      // It stops when its input ends: also when this process is killed.
      child.stdin.end();
      const [code] = await exited;
      if (code !== 0) throw new Error(`The gateway under test ended with ${code}.`);
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("no output to read");
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`The gateway under test did not start: it ended with ${code}.`);
  });
  const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), died])) as [string];
  return line;
}
