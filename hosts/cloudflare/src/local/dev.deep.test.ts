import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { gatewaySettings } from "@inference/gateway/settings";
import { eventually } from "@inference/protocol/testing/eventually";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { wranglerFile } from "../deploy/wrangler-file.ts";
import { settingsOf } from "../settings.ts";
import { root } from "../testing/wrangler.ts";
import { readDevnet } from "./devnet.ts";
import { takePort } from "./workerd.ts";

const run = promisify(execFile);

let chain: PrimaryChain;
let simulator: Awaited<ReturnType<typeof startProviderSimulator>>;
const devnet = mkdtempSync(join(tmpdir(), "devnet-"));

/** The files of a running devnet. */
before(async () => {
  chain = await startPrimaryChain();
  simulator = await startProviderSimulator({ masterKey: "master-key" });
  const privateKey = generatePrivateKey();
  await chain.activate(privateKeyToAddress(privateKey), 5_000_000n);
  await chain.finalize();
  const ready = {
    chains: [{ name: "primary", chainId: 31_337, rpcUrl: chain.rpcUrl }],
    contracts: { primary: { inferenceSettlement: chain.settlement } },
    wallets: [{ privateKey, activated: true }],
    provider: { url: simulator.url },
  };
  const secrets = { gatewaySecret: "22".repeat(32), providerKey: "master-key", providerAdminKey: "admin-key" };
  writeFileSync(join(devnet, "ready.json"), JSON.stringify(ready));
  writeFileSync(join(devnet, "secrets.json"), JSON.stringify(secrets));
});

after(async () => {
  await simulator?.close();
  await chain?.stop();
  rmSync(devnet, { recursive: true });
});

function startDev(environment: Record<string, string>, ...flags: string[]): { child: ChildProcess; said(): string } {
  const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url)), ...flags], {
    env: {
      NODE_NO_WARNINGS: "1",
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      WORKER_PORT: "0",
      ...environment,
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
  return { child, said: () => said };
}

test("beside a devnet it prints a URL and a login that works, stops when told, and goes on where it stopped", async () => {
  const state = mkdtempSync(join(tmpdir(), "infer-"));
  const WORKER_PORT = String(await takePort(0));
  for (const isNew of [true, false]) {
    const { child, said } = startDev({ DEVNET_DIR: devnet, WORKER_PORT });
    try {
      await eventually(async () => assert.match(said(), /Stop/));
      const words = / cli\/bin\/infer\.mjs (login .*)/.exec(said())?.[1]?.split(" ") ?? assert.fail(said());
      const login = async (): Promise<object> => {
        const args = [join(root, "cli/bin/infer.mjs"), ...words, "--json"];
        const { stdout } = await run(process.execPath, args, {
          env: { PATH: process.env.PATH, XDG_STATE_HOME: state },
        });
        return JSON.parse(stdout) as object;
      };
      assert.partialDeepStrictEqual(await login(), { is_new: isNew });
      await eventually(async () => assert.partialDeepStrictEqual(await login(), { available_nano_usd: 5_000_000_000 }));
    } finally {
      child.kill("SIGTERM");
    }
    assert.deepEqual(await once(child, "exit"), [0, null], said());
  }
  rmSync(state, { recursive: true });
});

test("for wrangler dev it writes a configuration with all of the devnet's settings", async () => {
  const { child, said } = startDev({ DEVNET_DIR: devnet, WORKER_PORT: "8790" }, "--wrangler");
  assert.deepEqual(await once(child, "close"), [0, null], said());
  const [, file = ""] = /^npx wrangler dev --config (\S+)\n$/.exec(said()) ?? [];
  const { vars, dev, durable_objects } = JSON.parse(readFileSync(file, "utf8")) as typeof wranglerFile;
  const { settings } = readDevnet(devnet, {});
  assert.deepEqual(vars, { BASE_URL: "http://localhost:8790", ...settings });
  assert.equal(dev.port, 8790);
  assert.equal(settingsOf(vars).UPSTREAM_CHAT_EXTRAS.venice_parameters !== undefined, true);
  assert.deepEqual(durable_objects, wranglerFile.durable_objects);
});

test("wrangler dev serves the dashboard's page with its policy, and the files that the page names", async (t) => {
  const port = await takePort(0);
  const writing = startDev({ DEVNET_DIR: devnet, WORKER_PORT: String(port) }, "--wrangler");
  assert.deepEqual(await once(writing.child, "close"), [0, null], writing.said());
  const home = mkdtempSync(join(tmpdir(), "wrangler-"));
  const child = spawn(join(root, "node_modules/.bin/wrangler"), ["dev", "--config", join(devnet, "wrangler.json")], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: home, CI: "1", WRANGLER_SEND_METRICS: "false" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  t.after(async () => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
    rmSync(home, { recursive: true });
  });
  const url = `http://localhost:${port}`;
  const page = await eventually(async () => fetch(`${url}/`, { headers: { accept: "text/html" } }));
  assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; script-src 'self'/);
  const names = [...(await page.text()).matchAll(/"(\/assets\/[^"]+)"/g)].map(([, name = ""]) => name);
  assert.ok(names.length > 3);
  for (const name of names) {
    const { status, headers } = await fetch(url + name);
    assert.equal(status, 200, name);
    const type = { js: /^text\/javascript/, css: /^text\/css/, svg: /^image\/svg\+xml/ }[name.split(".")[1] ?? ""];
    assert.match(headers.get("content-type") ?? "", type ?? /never/);
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  }
  // Signed messages name this address.
  const { docs } = (await (await fetch(url)).json()) as { docs: string };
  assert.equal(docs, `${url}/docs`);
  const missing = await fetch(`${url}/assets/none.js`);
  assert.deepEqual(
    [missing.status, ((await missing.json()) as { error: { code: string } }).error.code],
    [404, "not_found"],
  );
  const nonce = await fetch(`${url}/api/v1/auth/nonce`);
  assert.ok(nonce.status < 500);
});

test("every contract that a devnet names and a gateway may know is among the settings", () => {
  const folder = mkdtempSync(join(tmpdir(), "devnet-"));
  const names = ["inferenceSettlement", "inferenceToken", "tokenMinter", "stablecoin", "tokenBridge"];
  const primary = Object.fromEntries([...names, "inferencePool", "agentRegistry"].map((name) => [name, `the ${name}`]));
  const ready = JSON.parse(readFileSync(join(devnet, "ready.json"), "utf8")) as object;
  writeFileSync(join(folder, "ready.json"), JSON.stringify({ ...ready, contracts: { primary } }));
  copyFileSync(join(devnet, "secrets.json"), join(folder, "secrets.json"));
  const deployment = {
    PRIMARY_ANCHOR: "17000000:0x00",
    SETTLEMENT_START_BLOCK: "17000000",
    BASE_URL: "https://a.example",
  };
  const { settings } = readDevnet(folder, deployment);
  rmSync(folder, { recursive: true });
  for (const name of Object.keys(deployment)) assert.equal(settings[name], undefined, `${name} is another chain's`);
  const addresses = Object.keys(gatewaySettings.shape).filter((name) => name.endsWith("_ADDRESS"));
  assert.deepEqual(addresses.map((name) => settings[name]).sort(), Object.values(primary).sort());
});

test("without a devnet, or on a port that is taken, it says what to do in one line", async () => {
  const nowhere = startDev({ DEVNET_DIR: join(devnet, "nowhere") });
  assert.deepEqual(await once(nowhere.child, "exit"), [1, null]);
  assert.match(nowhere.said(), /^No devnet is running in \S+: run `npm start` .*\n$/);
  const taken = new URL(chain.rpcUrl).port;
  const refused = startDev({ DEVNET_DIR: devnet, WORKER_PORT: taken });
  assert.deepEqual(await once(refused.child, "exit"), [1, null]);
  assert.match(refused.said(), /^Port \d+ cannot be used: .*\n$/);
});
