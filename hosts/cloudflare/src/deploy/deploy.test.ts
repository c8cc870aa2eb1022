import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gatewaySettings } from "@inference/gateway/settings";
import { type Bundle, bundleWorker } from "./bundle.ts";
import { type Configuration, configurationOf, FREE_BYTES, PAID_BYTES, problemsOf, SECRETS } from "./configuration.ts";

let bundle: Bundle;
before(async () => {
  bundle = await bundleWorker();
});

const settings = { BASE_URL: "https://gateway.example", GATEWAY_SECRET: "11".repeat(32), UPSTREAM_API_KEY: "key" };
const valid = (): Configuration => configurationOf(settings, { keyValueId: "abc" });

test("the bundle is one module, of a size that any plan takes", () => {
  assert.ok(bundle.imports.includes("cloudflare:workers"));
  assert.ok(bundle.gzipBytes > 10_000 && bundle.gzipBytes < FREE_BYTES, `${bundle.gzipBytes} bytes`);
});

test("the configuration can be deployed, and what cannot is named", () => {
  assert.deepEqual(problemsOf(valid(), bundle), []);
  const wrong: [name: string, configuration: Partial<Configuration>, Partial<Bundle>, RegExp][] = [
    ["too large", {}, { gzipBytes: PAID_BYTES + 1 }, /may have/],
    ["without an object's class", {}, { exports: ["default", "ChainObject"] }, /not export PartitionObject/],
    ["with files", {}, { imports: ["node:fs"] }, /imports node:fs/],
    ["without a handler", {}, { exports: ["PartitionObject", "ChainObject"] }, /no handler/],
    ["without a migration", { migrations: [] }, {}, /made by 0 migrations/],
    ["migrated twice", { migrations: [...valid().migrations, ...valid().migrations] }, {}, /one tag/],
    ["a variable too long", { vars: { MODEL_ALIASES: "x".repeat(6_000) } }, {}, /MODEL_ALIASES has 6000 bytes/],
    ["a variable named as an object", { vars: { CHAIN: "x" } }, {}, /CHAIN is bound twice/],
  ];
  for (const [name, change, other, expected] of wrong) {
    assert.match(problemsOf({ ...valid(), ...change }, { ...bundle, ...other }).join("\n"), expected, name);
  }
});

test("secrets are the gateway's settings by name, and never in the configuration", () => {
  assert.deepEqual(
    SECRETS.filter((name) => !(name in gatewaySettings.shape)),
    [],
  );
  assert.deepEqual(valid().vars, { BASE_URL: "https://gateway.example" });
  const secretive = Object.keys(gatewaySettings.shape).filter((name) => /_(KEY|SECRET|TOKEN|RPC_URLS?)$/.test(name));
  assert.deepEqual(
    secretive.filter((name) => !SECRETS.some((secret) => secret === name)),
    [],
  );
});

test("a dry run sends nothing, writes both files, and says what is missing before it could", () => {
  const run = (environment: Record<string, string>, ...flags: string[]) =>
    spawnSync(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url)), ...flags], {
      encoding: "utf8",
      env: { PATH: "", NODE_NO_WARNINGS: "1", NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment },
    });
  const bare = run({});
  assert.equal(bare.status, 0, bare.stderr);
  assert.match(bare.stdout, /CLOUDFLARE_KV_ID: is missing[\s\S]*BASE_URL: is missing[\s\S]*nothing was sent/);
  assert.equal(run({}, "--confirm").status, 1);

  const environment = {
    ...settings,
    CLOUDFLARE_KV_ID: "abc",
    UPSTREAM_BASE_URL: "https://provider.example/v1",
    PRIMARY_CHAIN_ID: "8453",
    SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
  };
  const whole = run(environment);
  assert.equal(whole.status, 0, whole.stderr);
  assert.doesNotMatch(whole.stdout, /missing/);
  const written = readFileSync(new URL("../../dist/wrangler.json", import.meta.url), "utf8");
  assert.deepEqual(JSON.parse(written).durable_objects.bindings, [
    { name: "PARTITION", class_name: "PartitionObject" },
    { name: "CHAIN", class_name: "ChainObject" },
  ]);
  assert.equal(JSON.parse(written).kv_namespaces[0].id, "abc");
  assert.ok(!written.includes(settings.GATEWAY_SECRET));
});
