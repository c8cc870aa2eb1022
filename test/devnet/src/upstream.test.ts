import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { type Devnet, startDevnet } from "./devnet.ts";
import type { ReadyFile } from "./ready.ts";
import { anyPorts, deployedFolder, processesOf } from "./testing/launch.ts";

describe("a provider of the user's own, played by the simulator in this process", () => {
  let provider: Awaited<ReturnType<typeof startProviderSimulator>>;
  const folder = deployedFolder();
  const key = "my-own-key";
  const progress: string[] = [];

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

  test("it takes the simulator's place with its catalogue's prices; an alias of no model is told", async () => {
    const devnet = await start({ MODEL_ALIASES: '{"smart":"no-such-model","small":"sim-small"}' });
    deepEqual(devnet.ready.provider, { url: provider.url });
    ok(!progress.join().includes("simulator"));
    ok(progress.includes("MODEL_ALIASES: the provider does not list no-such-model, which is called smart."));
    equal((await chat(devnet.ready, "sim-small")).status, 200);
    equal((await chat(devnet.ready, "small")).status, 200);
    await devnet.stop();
  });

  test("PRICES_FILE takes the place of the catalogue", async () => {
    const prices = join(folder.path, "prices.json");
    const model = {
      ...{ id: "sim-large", type: "text", context_tokens: 4096, max_output_tokens: 64 },
      usd_per_million_tokens: { input: "1", output: "2" },
    };
    writeFileSync(prices, JSON.stringify({ models: [model] }));
    const devnet = await start({ PRICES_FILE: prices });
    match(devnet.curl, /"model":"sim-large"/, "the example is for a model that there is");
    equal((await chat(devnet.ready, "sim-small")).status, 404);
    const response = await chat(devnet.ready, "sim-large");
    const { usage } = (await response.json()) as {
      usage: { prompt_tokens: number; completion_tokens: number; cost: number };
    };
    equal(Math.round(usage.cost * 1e9), usage.prompt_tokens * 1_000 + usage.completion_tokens * 2_000);
    await devnet.stop();
  });

  test("what is wrong with it is told before there is a chain, and nothing stays", async () => {
    const broken = join(folder.path, "broken.json");
    writeFileSync(broken, "not prices");
    for (const [settings, because] of [
      [{ UPSTREAM_API_KEY: "wrong" }, /UPSTREAM_API_KEY: .* does not accept it \(401\)/],
      [{ UPSTREAM_BASE_URL: "http://127.0.0.1:9/api/v1" }, /127\.0\.0\.1:9/],
      [{ PRICES_FILE: join(folder.path, "none.json") }, /PRICES_FILE: .*none\.json cannot be read/],
      [{ PRICES_FILE: broken }, /^The gateway ended with code 1: /],
      [
        { UPSTREAM_BASE_URL: "", UPSTREAM_API_KEY: "", MODEL_ALIASES: "no json" },
        /^The gateway ended with code 1: .*MODEL_ALIASES: must be a JSON object/,
      ],
    ] as const) {
      await rejects(start(settings), { name: "DevnetError", message: because });
      ok(!progress.join().includes("local chains"), progress.join());
    }
    deepEqual(processesOf(folder.path), []);
  });
});

function chat({ gatewayUrl, apiKey }: ReadyFile, model: string): Promise<Response> {
  return fetch(`${gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 8 }),
  });
}
