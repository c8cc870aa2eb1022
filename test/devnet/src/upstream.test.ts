import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { deployedFolder, launch, stopLaunched } from "./testing/launch.ts";

/** A provider of the user's own, played by the simulator in this process. */
let provider: Awaited<ReturnType<typeof startProviderSimulator>>;
const folder = deployedFolder();
const key = "my-own-key";

before(async () => {
  provider = await startProviderSimulator({ port: 0, masterKey: key, adminKey: "another" });
});
after(async () => {
  await stopLaunched();
  await provider.close();
  folder.remove();
});

test("a provider of one's own takes the simulator's place, with prices from its catalogue", async () => {
  const started = launch(folder.path, { UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: key });
  const ready = await started.ready();
  deepEqual(ready.provider, { url: provider.url });
  ok(!started.output.stderr.includes("simulator"));
  ok(started.output.stdout.includes(`${ready.gatewayUrl}/docs\n`), "where the documentation is");
  const response = await chat(ready, "sim-small");
  equal(response.status, 200);
  started.kill("SIGINT");
  equal(await started.exited, 0);
});

test("PRICES_FILE takes the place of the catalogue; a wrong one is one line", async () => {
  const prices = join(folder.path, "prices.json");
  const settings = { UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: key, PRICES_FILE: prices };
  const rates = { input: "1", output: "2" };
  const model = {
    id: "sim-large",
    type: "text",
    context_tokens: 4096,
    max_output_tokens: 64,
    usd_per_million_tokens: rates,
  };
  writeFileSync(prices, JSON.stringify({ models: [model] }));
  const started = launch(folder.path, settings);
  const ready = await started.ready();
  match(started.output.stdout, /"model":"sim-large"/, "the example is for a model that there is");
  equal((await chat(ready, "sim-small")).status, 404);
  const response = await chat(ready, "sim-large");
  const { usage } = (await response.json()) as {
    usage: { prompt_tokens: number; completion_tokens: number; cost: number };
  };
  equal(Math.round(usage.cost * 1e9), usage.prompt_tokens * 1_000 + usage.completion_tokens * 2_000);
  started.kill("SIGINT");
  await started.exited;

  writeFileSync(prices, "not prices");
  const failing = launch(folder.path, settings);
  equal(await failing.exited, 1);
  match(failing.output.stderr.trimEnd().split("\n").at(-1) ?? "", /^The gateway ended with code 1: /);
});

test("what is wrong with the provider is told before there is a chain", async () => {
  const own = { UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: key };
  const none = join(folder.path, "none.json");
  for (const [settings, because] of [
    [{ ...own, UPSTREAM_API_KEY: "wrong" }, /UPSTREAM_API_KEY: .* does not accept it \(401\)/],
    [{ ...own, UPSTREAM_BASE_URL: "http://127.0.0.1:9/api/v1" }, /127\.0\.0\.1:9/],
    [{ ...own, PRICES_FILE: none }, /PRICES_FILE: .*none\.json cannot be read/],
    [{ MODEL_ALIASES: "no json" }, /MODEL_ALIASES: must be a JSON object/],
  ] as const) {
    const started = launch(folder.path, settings);
    equal(await started.exited, 1);
    const { stderr } = started.output;
    match(stderr.trimEnd().split("\n").at(-1) ?? "", because);
    ok(!stderr.includes("local chains"), stderr);
  }
});

test("an alias of a model that the provider does not list is one line, and keeps nothing from starting", async () => {
  const started = launch(folder.path, { MODEL_ALIASES: '{"smart":"no-such-model","small":"alder-4b"}' });
  const ready = await started.ready();
  match(started.output.stderr, /^MODEL_ALIASES: the provider does not list no-such-model, which is called smart\.$/m);
  equal((await chat(ready, "small")).status, 200);
  started.kill("SIGINT");
  equal(await started.exited, 0);
});

function chat({ gatewayUrl, apiKey }: { gatewayUrl: string; apiKey: string }, model: string): Promise<Response> {
  return fetch(`${gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 8 }),
  });
}
