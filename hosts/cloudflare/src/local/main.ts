import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
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
  show(worker.url, await makeKey(worker.url, site), await exampleModel(worker.url));
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

/** Creates an API key for the activated wallet's account, and waits for its credit. */
async function makeKey(url: string, { privateKey, chainId }: DevnetSite): Promise<string> {
  const wallet = privateKeyToAccount(privateKey);
  const message = createSiweMessage({
    domain: new URL(url).host,
    address: wallet.address,
    uri: url,
    version: "1",
    chainId,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
    resources: [`${url}/api/v1/keys?name=dev`],
  });
  const signature = await wallet.signMessage({ message });
  const { key } = await call<{ key: string }>(`${url}/api/v1/keys`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message, signature }),
  });
  const headers = { authorization: `Bearer ${key}` };
  for (let tries = 0; tries < 150; tries += 1) {
    const { data } = await call<{ data: { total_credits_nano_usd: number } }>(`${url}/api/v1/credits`, { headers });
    if (data.total_credits_nano_usd > 0) return key;
    await sleep(100);
  }
  throw new Error("The activation has not been credited in 15 s: does the devnet's chain still run?");
}

async function call<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`The Worker answered ${new URL(url).pathname} with ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

/** The first text model that the provider lists. */
async function exampleModel(url: string): Promise<string> {
  const { data } = await call<{ data: { id: string; type: string }[] }>(`${url}/api/v1/models`, {});
  const model = data.find(({ type }) => type === "text");
  if (model === undefined) throw new Error("The provider lists no text model with a price.");
  return model.id;
}

function show(url: string, key: string, model: string): void {
  const body = JSON.stringify({
    model,
    messages: [{ role: "user", content: "Say hello." }],
    max_tokens: 64,
  });
  process.stdout.write(
    `\nGateway  ${url} (a Worker)\nDocs     ${url}/docs\nAPI key  ${key}\n\n` +
      `curl ${url}/api/v1/chat/completions -H 'authorization: Bearer ${key}' ` +
      `-H 'content-type: application/json' -d '${body}'\n\nStop     Ctrl-C\n`,
  );
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
