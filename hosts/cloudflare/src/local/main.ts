import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { wranglerFile } from "../deploy/wrangler-file.ts";
import { WORKER } from "./bundle.ts";
import { type DevnetSite, readDevnet } from "./devnet.ts";
import { readSettings } from "./settings-file.ts";
import { type RunningWorker, startWorker } from "./workerd.ts";

/**
 * `npm run dev:cloudflare`: the gateway as a Worker on this machine, on a running devnet. With `--wrangler` it only
 * writes a configuration for `wrangler dev`, with the devnet's settings: from `.dev.vars` wrangler takes none but the
 * variables and the required secrets that `wrangler.jsonc` names.
 */
let worker: RunningWorker | undefined;
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    isStopping = true;
    void Promise.resolve(worker?.stop()).then(() => process.exit(0));
  });
}
try {
  const { values: flags } = parseArgs({ options: { wrangler: { type: "boolean" } } });
  const devnet = process.env.DEVNET_DIR || ".devnet";
  const site = readDevnet(devnet, readSettings(process.env));
  if (flags.wrangler) {
    process.stdout.write(`npx wrangler dev --config ${writeWranglerFile(join(devnet, "wrangler.json"), site)}\n`);
    process.exit(0);
  }
  worker = await startWorker({ settings: site.settings, folder: site.folder, port: readPort() });
  const { url } = worker;
  process.stdout.write(
    `\nGateway  ${url} (a Worker)\nDocs     ${url}/docs\n` +
      `API key  cli/bin/infer.mjs login --gateway ${url} --private-key ${site.privateKey}\nStop     Ctrl-C\n`,
  );
  await worker.ended;
  if (!isStopping) throw new Error(`workerd ended unasked: ${worker.said()}`);
} catch (error) {
  if (isStopping) process.exit(0);
  await worker?.stop();
  fail(error instanceof Error ? error.message : String(error));
}

function writeWranglerFile(file: string, { settings }: DevnetSite): string {
  const { secrets: _, env: __, ...configuration } = wranglerFile;
  const port = readPort();
  const vars = { BASE_URL: `http://localhost:${port}`, ...settings };
  // The file is in another folder than `wrangler.jsonc`, whose paths are relative.
  const assets = {
    ...configuration.assets,
    directory: fileURLToPath(new URL(`../../../../${configuration.assets.directory}`, import.meta.url)),
  };
  const local = { ...configuration, main: fileURLToPath(WORKER), assets, dev: { port }, vars };
  // It contains secrets.
  writeFileSync(file, JSON.stringify(local, null, 2), { mode: 0o600 });
  return file;
}

function readPort(): number {
  const text = process.env.WORKER_PORT || String(wranglerFile.dev.port);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`WORKER_PORT must be a port number from 0 to 65535 (0 for any free one), not ${text}.`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
