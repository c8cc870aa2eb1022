import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };

export type RunningWorker = { url: string; stop(): Promise<void> };

/** Bundles the Worker and runs it on local workerd, its objects on disk in a folder of its own. */
export async function startWorker(bindings: Record<string, string>): Promise<RunningWorker> {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  mkdirSync(join(folder, "objects"));
  await Promise.all(["smoke-worker", "key-value-service"].map((name) => bundle(name, folder)));
  const port = await freePort();
  writeFileSync(join(folder, "config.capnp"), config(bindings, port));
  const child = spawn(workerd, ["serve", "config.capnp", "--experimental"], { cwd: folder });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said.push(data.toString()));
  const url = `http://127.0.0.1:${port}`;
  try {
    await answers(url, child);
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`workerd did not start: ${said.join("")}`, { cause: error });
  }
  return {
    url,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

async function bundle(name: string, folder: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    outfile: join(folder, `${name}.js`),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
}

function config(bindings: Record<string, string>, port: number): string {
  const texts = Object.entries(bindings).map(
    ([name, value]) => `      (name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)}),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = .gateway),
    (name = "key-value", worker = .keyValue),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "gateway")],
);
const gateway :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "smoke-worker.js")],
  compatibilityDate = "2026-06-01",
  compatibilityFlags = ["nodejs_compat", "enable_request_signal"],
  durableObjectNamespaces = [(className = "PartitionObject", uniqueKey = "partition", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    (name = "PARTITION", durableObjectNamespace = "PartitionObject"),
    (name = "KEY_VALUE", kvNamespace = "key-value"),
${texts.join("\n")}
  ],
);
const keyValue :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "key-value-service.js")],
  compatibilityDate = "2026-06-01",
);
`;
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    try {
      await fetch(`${url}/api/v1/nothing`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("it does not answer");
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
