import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wranglerFile } from "@inference/host-cloudflare/deploy/wrangler-file";
import { serveWorkerd } from "@inference/host-cloudflare/local/workerd";
import { freePort } from "../process.ts";
import type { RunningTarget } from "../target.ts";

/** Runs a Worker that has no storage on local workerd, as `workerd serve` does, and as ours is run. */
export async function startPlainWorker(
  code: Uint8Array,
  variables: Readonly<Record<string, string>>,
): Promise<Pick<RunningTarget, "origin" | "pids" | "stop">> {
  const folder = await mkdtemp(join(tmpdir(), "bench-worker-"));
  const port = await freePort();
  await writeFile(join(folder, "worker.js"), code);
  await writeFile(join(folder, "config.capnp"), configuration(port, variables));
  const worker = await serveWorkerd(folder, `http://127.0.0.1:${port}`);
  return {
    origin: worker.url,
    pids: worker.pid === undefined ? [] : [worker.pid],
    async stop() {
      await worker.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(port: number, variables: Readonly<Record<string, string>>): string {
  const quote = JSON.stringify;
  const bindings = Object.entries(variables).map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "worker")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = ${quote(wranglerFile.compatibility_date)},
  compatibilityFlags = ${quote(wranglerFile.compatibility_flags)},
  bindings = [${bindings.join(", ")}],
);
`;
}
