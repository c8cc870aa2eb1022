import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { limits } from "@inference/gateway/config";
import { configOf, parseSettings, SettingsError } from "@inference/gateway/settings";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { inDeepRun } from "@inference/protocol/testing/deep";
import { openChain } from "./chain.ts";
import { gatewayEnvironment, gatewayUrl, launch, start } from "./chaos/processes.ts";
import { checkProvider } from "./check.ts";
import { type NodeSettings, nodeSettings } from "./settings.ts";
import { readSettingsFile } from "./settings-file.ts";
import { startProvider } from "./testing/site.ts";

const folder = mkdtempSync(join(tmpdir(), "settings-"));
const secret = "5e".repeat(32);
let provider: Awaited<ReturnType<typeof startProvider>>;
/** Settings that a gateway starts with. */
let right: Record<string, string>;
before(async () => {
  provider = await startProvider();
  right = gatewayEnvironment({
    databaseFile: join(folder, "gateway.sqlite"),
    secret,
    provider,
  });
});
after(async () => {
  await provider.close();
  rmSync(folder, { recursive: true });
});

const read = (change: Record<string, string>): NodeSettings => parseSettings(nodeSettings, { ...right, ...change });

/** The lines of the error of these settings; empty without one. */
function problemsOf(env: Record<string, string>): string[] {
  try {
    parseSettings(nodeSettings, env);
    return [];
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.message.split("\n");
  }
}

test("an error names every missing setting, with its purpose", () => {
  const required = Object.keys(right).filter(
    (name) => !["CHAIN_POLL_MS", "DATABASE_FILE", "PORT", "UPSTREAM_CHAT_EXTRAS", "UPSTREAM_PROBE"].includes(name),
  );
  const [first, ...missing] = problemsOf({});
  assert.equal(first, "The gateway cannot start. Invalid settings:");
  assert.deepEqual(missing.map((line) => /^ {2}(\w+): is missing \(.+\)$/.exec(line)?.[1]).sort(), required.sort());
});

const wrong: Record<string, [value: string, because: RegExp]> = {
  BASE_URL: ["ftp://gateway.test", /http\(s\) URL/],
  GATEWAY_SECRET: ["0123456789abcdef", /32 random bytes in hex/],
  UPSTREAM_BASE_URL: ["provider", /http\(s\) URL/],
  UPSTREAM_CATALOGUE: ["guess", /./],
  MODEL_ALIASES: ["[1]", /JSON object/],
  UPSTREAM_CHAT_EXTRAS: ["{", /JSON object/],
  UPSTREAM_OUTPUT_FIELD: ["tokens", /./],
  UPSTREAM_RECORD_URL: ["http://provider.test/record", /\{id\}/],
  PRIMARY_RPC_URL: ["localhost:8545", /http\(s\) URL/],
  PRIMARY_CHAIN_ID: ["0x1", /whole number/],
  PRIMARY_ANCHOR: ["latest", /block number and its hash/],
  SETTLEMENT_ADDRESS: ["0x123", /0x address/],
  SETTLEMENT_START_BLOCK: ["-1", /whole number/],
  CONFIRMATIONS: ["latest", /./],
  CHAIN_POLL_MS: ["999999999", /at most/],
  METRICS_TOKEN: ["short", /at least 16/],
  CLIENT_ADDRESS_HEADER: ["x forwarded", /name of a header/],
  ACCOUNT_REQUESTS_PER_MINUTE: ["-1", /whole number/],
  ADDRESS_REQUESTS_PER_MINUTE: ["1.5", /whole number/],
  UPSTREAM_BREAKER_FAILURES: ["some", /whole number/],
  UPSTREAM_MODEL_REQUESTS: ["many", /whole number/],
  RECEIPT_RETENTION_DAYS: ["1", /at least 2/],
  PORT: ["http", /port number/],
  DATABASE_SYNCHRONOUS: ["OFF", /./],
};

test("an error names every wrong setting, with what it must be, and shows no value", () => {
  const env = { ...right, ...Object.fromEntries(Object.entries(wrong).map(([name, [value]]) => [name, value])) };
  const problems = problemsOf(env);
  const named = new Map(problems.slice(1).map((line) => [/^ {2}(\w+): /.exec(line)?.[1], line]));
  assert.deepEqual([...named.keys()].sort(), Object.keys(wrong).sort());
  for (const [name, [, because]] of Object.entries(wrong)) assert.match(named.get(name) ?? "", because);
  assert.ok(!problems.join().includes("0123456789abcdef"), "the secret is in the error");
});

test("an empty setting is a missing one, and a port beyond the last is no port", () => {
  assert.deepEqual(problemsOf(right), []);
  assert.deepEqual(problemsOf({ ...right, HOST: "" }), []);
  assert.match(problemsOf({ ...right, UPSTREAM_API_KEY: "" })[1] ?? "", /UPSTREAM_API_KEY: is missing/);
  assert.match(problemsOf({ ...right, PORT: "65536" })[1] ?? "", /PORT: must be/);
  assert.deepEqual(problemsOf({ ...right, PORT: "65535" }), []);
});

test("a setting that is not given has its default, and a URL loses its last slash", () => {
  const settings = parseSettings(nodeSettings, { ...right, PORT: "", BASE_URL: "https://gateway.test/" });
  const { HOST, PORT, DATABASE_SYNCHRONOUS, CONFIRMATIONS, UPSTREAM_CATALOGUE, BASE_URL } = settings;
  assert.deepEqual(
    [HOST, PORT, DATABASE_SYNCHRONOUS, CONFIRMATIONS, UPSTREAM_CATALOGUE, BASE_URL],
    ["127.0.0.1", 8787, "FULL", "finalized", "auto", "https://gateway.test"],
  );
  const host = {
    mostDrainMs: limits.requestMs,
    bodyMemoryBytes: 2 ** 28,
    answerMemoryBytes: 2 ** 27,
    pricesFile: null,
  };
  const config = configOf(settings, host);
  assert.deepEqual(config.secret, new Uint8Array(Buffer.from(secret, "hex")));
  assert.deepEqual(config.chainIds, [31337]);
  assert.equal(config.drainMs, 25_000, "as long as at the edge");
});

test("a settings file gives what the environment lacks, and an unknown name or a missing file is one clear error", () => {
  const file = join(folder, "gateway.env");
  writeFileSync(file, `CHAINS='[\n  {}\n]'\nOTEL_SERVICE_NAME=kit\nPORT=1\nHOST=h # a comment`, { mode: 0o600 });
  const environment: Record<string, string> = { PORT: "2", HOST: "" };
  readSettingsFile(file, environment);
  assert.deepEqual(environment, { PORT: "2", HOST: "h", CHAINS: "[\n  {}\n]", OTEL_SERVICE_NAME: "kit" });
  writeFileSync(file, `GATEWAY_SECRETS=${secret}\nNODE_OPTIONS=--inspect\nPORT=1`);
  assert.throws(() => readSettingsFile(file, {}), {
    message:
      `The gateway cannot start. Unknown names in ${file}:\n` +
      "  GATEWAY_SECRETS: is not a setting. docs/configuration.md lists all\n" +
      "  NODE_OPTIONS: is not a setting. docs/configuration.md lists all",
  });
  assert.throws(() => readSettingsFile(`${file}x`, {}), { message: `--settings: ${file}x cannot be read (ENOENT).` });
});

test(
  "a chain that contradicts PRIMARY_ANCHOR or a contract's address ends the start with one line",
  inDeepRun,
  async () => {
    const chain = await startPrimaryChain();
    try {
      await chain.finalize();
      const { hash } = await chain.rpc<{ hash: string }>("eth_getBlockByNumber", ["0x0", false]);
      const keccak = await makeKeccak();
      const open = (change: Record<string, string>) =>
        openChain(read({ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement, ...change }), {
          ...{ ledger: openMemoryHost({ now: Date.now }), keccak, now: Date.now },
          dollarStore: { load: async () => null, save: async () => {} },
        });
      await open({ PRIMARY_ANCHOR: `0:${hash}`, TOKEN_ADDRESS: chain.token, STABLECOIN_ADDRESS: chain.stablecoin });
      const [otherHash, otherPool] = [`0x${"66".repeat(32)}`, `0x${"66".repeat(20)}`];
      await assert.rejects(open({ PRIMARY_ANCHOR: `0:${otherHash}` }), {
        message: `The gateway cannot start. block 0 is ${hash}, not ${otherHash} as PRIMARY_ANCHOR says: this is another chain.`,
      });
      await assert.rejects(open({ POOL_ADDRESS: otherPool }), {
        message: `The gateway cannot start. POOL_ADDRESS is ${otherPool}, and the settlement contract's POOL is none.`,
      });
    } finally {
      await chain.stop();
    }
  },
);

const prices = JSON.stringify({ models: [{ id: "sim-speech", type: "speech", usd_per_million_characters: "3.5" }] });

test("a key, an alias or a catalogue that the provider contradicts is an error of one line", async () => {
  const check = (change: Record<string, string>, pricesFile: string | null = null) =>
    checkProvider(read(change), pricesFile, () => {});
  await check({});
  await assert.rejects(
    check({ UPSTREAM_API_KEY: "wrong" }),
    /^SettingsError: [^\n]*UPSTREAM_API_KEY: [^\n]* \(401\)\. Set a key[^\n]*$/,
  );
  await assert.rejects(check({ MODEL_ALIASES: '{"a":"b"}' }, prices), /no b, [^\n]*calls a$/);
  await assert.rejects(check({ MODEL_ALIASES: '{"a":["sim-speech","b"]}' }, prices), /no b, [^\n]*calls a$/);
  await assert.rejects(check({ UPSTREAM_CATALOGUE: "per-token" }), /UPSTREAM_BASE_URL: the catalogue/);
  await assert.rejects(check({ UPSTREAM_BASE_URL: "http://127.0.0.1:9/api/v1" }), /127\.0\.0\.1:9|ECONNREFUSED/);
});

test("a price file with models that the provider does not list ends the start, unless the operator says otherwise", async () => {
  const models = ["sim-small", "sim-tiny"].map((id) => ({
    ...{ id, type: "text", context_tokens: 1_000 },
    usd_per_million_tokens: { input: "1", output: "1" },
  }));
  const pricesFile = JSON.stringify({ models });
  const check = (change: Record<string, string>) =>
    checkProvider(read({ UPSTREAM_PROBE: "strict", ...change }), pricesFile, () => {});
  const unlisted =
    /^SettingsError: The gateway cannot start\. PRICES_FILE .*: `sim-tiny`\..*\n {2}.*UPSTREAM_PROBE=warn\.$/;
  await assert.rejects(check({}), unlisted);
  await check({ UPSTREAM_PROBE: "warn" });
  await check({ UPSTREAM_PROBE: "off" });
  const nothingListed = JSON.stringify({ models: models.slice(1) });
  await assert.rejects(
    checkProvider(read({}), nothingListed, () => {}),
    /the provider lists none of its models: sim-tiny$/,
  );
});

test("--check ends without a file, a chain or a port; an error of it is one line", async () => {
  const file = join(folder, "unmade.sqlite");
  const env = { ...right, DATABASE_FILE: file, PRIMARY_RPC_URL: "http://127.0.0.1:9" };
  const program = launch({ script: "../main.ts", args: ["--check"], env });
  assert.equal((await program.ended).code, 0, program.stderr());
  assert.match(program.stdout(), /^\{"at":"[^"]+Z","level":"info","event":"checked"\}\n$/);
  assert.ok(!existsSync(file));
  const wrong = launch({
    script: "../main.ts",
    args: ["--check"],
    env: { ...env, PRICES_FILE: "/no/such/prices.json" },
  });
  assert.equal((await wrong.ended).code, 1);
  assert.match(wrong.stderr(), /^PRICES_FILE: \/no\/such\/prices\.json cannot be read: .+\n$/);
});

test("with the operator's prices a gateway starts without provider and chain", async () => {
  const nowhere = "http://127.0.0.1:9";
  const pricesFile = join(folder, "prices.json");
  writeFileSync(pricesFile, prices);
  const env = {
    ...right,
    ...{ DATABASE_FILE: join(folder, "alone.sqlite"), PRICES_FILE: pricesFile },
    ...{ UPSTREAM_BASE_URL: `${nowhere}/api/v1`, PRIMARY_RPC_URL: nowhere },
  };
  const program = await start({ script: "../main.ts", env });
  try {
    const health = (await (await fetch(`${gatewayUrl(program.ready)}/healthz`)).json()) as Record<string, unknown>;
    const checks = { ledger: "behind", prices: "ok", provider: "unknown" };
    assert.partialDeepStrictEqual(health, { status: "unavailable", checks, chain: "starting" });
  } finally {
    await program.kill();
  }
});
