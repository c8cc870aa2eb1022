import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { limits } from "@inference/gateway/config";
import { configOf, parseSettings, SettingsError } from "@inference/gateway/settings";
import {
  gatewayEnvironment,
  gatewayUrl,
  launch,
  type ProviderProcess,
  start,
  startProvider,
} from "./chaos/processes.ts";
import { nodeSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "settings-"));
const secret = "5e".repeat(32);
let provider: ProviderProcess;
before(async () => {
  provider = await startProvider();
});
after(async () => {
  await provider.kill();
  rmSync(folder, { recursive: true });
});

/** Settings that a gateway starts with. */
const right = (): Record<string, string> =>
  gatewayEnvironment({ databaseFile: join(folder, "gateway.sqlite"), secret, provider });

/** Runs the program until it ends, which it must do by itself: what it said that is not its log. */
async function runToEnd(
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number | null; said: string[]; stdout: string }> {
  const program = launch({ script: "../main.ts", args, env });
  const { code } = await program.ended;
  const lines = program.stderr().split("\n").filter(Boolean);
  return { code, said: lines.filter((line) => !line.startsWith("{")), stdout: program.stdout() };
}

const required = Object.keys(
  gatewayEnvironment({ databaseFile: "", secret, provider: { url: "", masterKey: "" } }),
).filter((name) => !["CHAIN_POLL_MS", "DATABASE_FILE", "PORT", "UPSTREAM_CHAT_EXTRAS"].includes(name));

test("without settings it ends with one message that names all that are missing, and what each is for", async () => {
  const { code, said, stdout } = await runToEnd({});
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.equal(said[0], "The gateway cannot start. Invalid settings:");
  assert.deepEqual(
    said
      .slice(1)
      .map((line) => /^ {2}(\w+): is missing \(.+\)$/.exec(line)?.[1])
      .sort(),
    [...required].sort(),
  );
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

test("wrong settings are named all at once, each with what it must be, and no value of theirs is said", async () => {
  const env = { ...right(), ...Object.fromEntries(Object.entries(wrong).map(([name, [value]]) => [name, value])) };
  const { code, said } = await runToEnd(env);
  assert.equal(code, 1);
  const named = new Map(said.slice(1).map((line) => [/^ {2}(\w+): /.exec(line)?.[1], line]));
  assert.deepEqual([...named.keys()].sort(), Object.keys(wrong).sort());
  for (const [name, [, because]] of Object.entries(wrong)) assert.match(named.get(name) ?? "", because);
  assert.ok(!said.join().includes("0123456789abcdef"), "the secret is said");
});

test("an empty setting is a missing one, and a port beyond the last is no port", () => {
  const problems = (change: Record<string, string>): string => {
    try {
      parseSettings(nodeSettings, { ...right(), ...change });
      return "";
    } catch (error) {
      assert.ok(error instanceof SettingsError);
      return error.message;
    }
  };
  assert.equal(problems({}), "");
  assert.equal(problems({ HOST: "" }), "");
  assert.match(problems({ UPSTREAM_API_KEY: "" }), /UPSTREAM_API_KEY: is missing/);
  assert.match(problems({ PORT: "65536" }), /PORT: must be/);
  assert.equal(problems({ PORT: "65535" }), "");
});

test("what is not said has its default, and a URL loses its last slash", () => {
  const settings = parseSettings(nodeSettings, { ...right(), PORT: "", BASE_URL: "https://gateway.test/" });
  const { HOST, PORT, DATABASE_SYNCHRONOUS, CONFIRMATIONS, UPSTREAM_CATALOGUE, BASE_URL } = settings;
  assert.deepEqual(
    [HOST, PORT, DATABASE_SYNCHRONOUS, CONFIRMATIONS, UPSTREAM_CATALOGUE, BASE_URL],
    ["127.0.0.1", 8787, "FULL", "finalized", "auto", "https://gateway.test"],
  );
  const host = { mostDrainMs: limits.requestMs, bodyMemoryBytes: 2 ** 28, answerMemoryBytes: 2 ** 27, pricesFile: null };
  const config = configOf(settings, host);
  assert.deepEqual(config.secret, new Uint8Array(Buffer.from(secret, "hex")));
  assert.deepEqual(config.chainIds, [31337]);
  assert.equal(config.drainMs, 25_000, "as long as at the edge");
});

describe("a chain that is there", () => {
  let chain: PrimaryChain;
  let genesis: string;
  before(async () => {
    chain = await startPrimaryChain();
    await chain.finalize();
    genesis = (await chain.rpc<{ hash: string }>("eth_getBlockByNumber", ["0x0", false])).hash;
  });
  after(() => chain?.stop());

  const beside = (more: Record<string, string> = {}): Record<string, string> => ({
    ...right(),
    DATABASE_FILE: join(folder, "beside.sqlite"),
    PRIMARY_RPC_URL: chain.rpcUrl,
    SETTLEMENT_ADDRESS: chain.settlement,
    ...more,
  });

  test("starts it with the anchor and the contracts that the chain has", async () => {
    const env = beside({
      PRIMARY_ANCHOR: `0:${genesis}`,
      TOKEN_ADDRESS: chain.token,
      STABLECOIN_ADDRESS: chain.stablecoin,
    });
    const program = await start({ script: "../main.ts", env });
    try {
      assert.equal((await fetch(`${gatewayUrl(program.ready)}/healthz`)).status, 200);
    } finally {
      await program.kill();
    }
  });

  for (const [setting, value, because] of [
    ["PRIMARY_ANCHOR", `0:0x${"66".repeat(32)}`, /block 0 is 0x\w+, not 0x66\w+ as PRIMARY_ANCHOR says/],
    ["POOL_ADDRESS", `0x${"66".repeat(20)}`, /POOL_ADDRESS is 0x66\w+, and the settlement contract's POOL is none\.$/],
  ] as const) {
    test(`ends it with one line where it says otherwise than ${setting}`, async () => {
      const { code, said, stdout } = await runToEnd(beside({ [setting]: value }));
      assert.deepEqual([code, stdout, said.length], [1, "", 1], said.join("\n"));
      assert.match(said[0] ?? "", /^The gateway cannot start\. /);
      assert.match(said[0] ?? "", because);
    });
  }
});

test("a port that is in use ends it with one line", async () => {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const { code, said, stdout } = await runToEnd({ ...right(), PORT: String(port) });
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.equal(said.length, 1, said.join("\n"));
    assert.match(said[0] ?? "", new RegExp(`^Port ${port} is in use: `));
  } finally {
    server.close();
  }
});

test("a file that another gateway uses ends it with one line", async () => {
  const file = join(folder, "taken.sqlite");
  const env = { ...right(), DATABASE_FILE: file };
  const other = await start({ script: "../main.ts", env });
  try {
    const { code, said } = await runToEnd(env);
    assert.equal(code, 1);
    assert.equal(said.length, 1, said.join("\n"));
    assert.match(said[0] ?? "", /^Another gateway is using .*taken\.sqlite: /);
    assert.equal((await fetch(`${gatewayUrl(other.ready)}/healthz`)).status, 200, "the first goes on");
  } finally {
    await other.kill();
  }
});

const prices = join(folder, "prices.json");
const voice = { id: "voice", type: "speech", usd_per_million_characters: "3.5" };
writeFileSync(prices, JSON.stringify({ models: [voice] }));

for (const [what, env, expected] of [
  ["prices that cannot be read", { PRICES_FILE: "/no/such/prices.json" }, /PRICES_FILE: \/no\/such\/prices\.json/],
  ["a folder that is not there", { DATABASE_FILE: "/no/such/folder/gateway.sqlite" }, /\/no\/such\/folder/],
  [
    "a key that the provider does not accept",
    { UPSTREAM_API_KEY: "wrong" },
    /UPSTREAM_API_KEY: .* \(401\)\. Set a key/,
  ],
  [
    "an alias of what the operator's prices lack",
    { MODEL_ALIASES: '{"a":"b"}', PRICES_FILE: prices },
    /no b, .*calls a$/,
  ],
  ["a provider that is not there", { UPSTREAM_BASE_URL: "http://127.0.0.1:9/api/v1" }, /127\.0\.0\.1:9|ECONNREFUSED/],
] as const) {
  test(`${what}: it ends with one line that says so`, async () => {
    const { code, said } = await runToEnd({ ...right(), ...env });
    assert.equal(code, 1);
    assert.equal(said.length, 1, said.join("\n"));
    assert.match(said[0] ?? "", expected);
  });
}

test("--check looks at settings, key and prices, and starts nothing", async () => {
  const file = join(folder, "unmade.sqlite");
  const env = { ...right(), DATABASE_FILE: file, PRIMARY_RPC_URL: "http://127.0.0.1:9" };
  const { code, stdout } = await runToEnd(env, ["--check"]);
  assert.equal(code, 0);
  assert.match(stdout, /^\{"at":"[^"]+Z","level":"info","event":"checked"\}\n$/);
  assert.ok(!existsSync(file));
  const wrong = await runToEnd({ ...env, UPSTREAM_CATALOGUE: "per-token" }, ["--check"]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.said[0] ?? "", /^The gateway cannot start\. UPSTREAM_BASE_URL: the catalogue/);
});

test("a provider that does not answer keeps no gateway from starting whose prices are its operator's", async () => {
  const nobody = "http://127.0.0.1:9";
  const env = { ...right(), UPSTREAM_BASE_URL: `${nobody}/api/v1`, PRIMARY_RPC_URL: nobody, PRICES_FILE: prices };
  const program = await start({ script: "../main.ts", env: { ...env, DATABASE_FILE: join(folder, "alone.sqlite") } });
  try {
    const health = (await (await fetch(`${gatewayUrl(program.ready)}/healthz`)).json()) as Record<string, unknown>;
    const checks = { ledger: "behind", prices: "ok", provider: "unknown" };
    assert.partialDeepStrictEqual(
      health,
      { status: "unavailable", checks, chain: "starting" },
      "its node is not there",
    );
  } finally {
    await program.kill();
  }
});
