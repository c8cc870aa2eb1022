import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { type Devnet, startDevnet } from "./devnet.ts";
import type { ReadyFile } from "./ready.ts";
import { anyPorts, deployedFolder, processesOf } from "./testing/launch.ts";

const folder = deployedFolder();
const key = "my-own-key";
const progress: string[] = [];
let provider: Awaited<ReturnType<typeof startProviderSimulator>>;

before(async () => {
  provider = await startProviderSimulator({ port: 0, masterKey: key, adminKey: "another" });
});
after(async () => {
  await provider.close();
  folder.remove();
});

function start(settings: Record<string, string>): Promise<Devnet> {
  progress.length = 0;
  const own = { UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: key, DEVNET_DIR: folder.path };
  return startDevnet({
    environment: { ...process.env, ...anyPorts, ...own, ...settings },
    onProgress: (line) => progress.push(line),
  });
}

test("a provider of the user's own replaces the simulator, and an alias of no model is reported", async () => {
  const devnet = await start({ MODEL_ALIASES: '{"smart":"no-such-model","small":"sim-small"}' });
  deepEqual(devnet.ready.provider, { url: provider.url });
  ok(!progress.join().includes("simulator"));
  ok(progress.includes("MODEL_ALIASES: the provider does not list no-such-model, which is called smart."));
  equal((await chat(devnet.ready, "sim-small")).status, 200);
  equal((await chat(devnet.ready, "small")).status, 200);
  await devnet.stop();
});

test("a wrong provider is reported before there is a chain, and leaves no process", async () => {
  const broken = join(folder.path, "broken.json");
  writeFileSync(broken, "not prices");
  for (const [settings, because] of [
    [{ UPSTREAM_API_KEY: "wrong" }, /UPSTREAM_API_KEY: .* does not accept it \(401\)/],
    [{ PRICES_FILE: broken }, /^The gateway ended with code 1: /],
  ] as const) {
    await rejects(start(settings), { name: "DevnetError", message: because });
    ok(!progress.join().includes("local chains"), progress.join());
  }
  deepEqual(processesOf(folder.path), []);
});

function chat({ gatewayUrl, apiKey }: ReadyFile, model: string): Promise<Response> {
  return fetch(`${gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 8 }),
  });
}
