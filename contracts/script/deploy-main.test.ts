import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { deployer, type SharedChains, shareChains } from "@inference/devnet/testing/shared-chains";
import { createPublicClient, createTestClient, http, toHex } from "viem";
import { deployMain } from "./deploy-main.ts";
import type { DeploymentConfig } from "./deployment-config.ts";

const DEEP = process.env.DEEP === "1";
const folder = mkdtempSync(join(tmpdir(), "deploy-"));
const file = join(folder, "deployment.json");
let chains: SharedChains;
let environment: Record<string, string>;
let simulated: Printed[];
let deployed: Printed[];
let json: { chains: Record<string, object> };

before(async () => {
  chains = await shareChains();
  const { primary, secondary1, secondary2 } = chains.rpcUrls;
  environment = { RPC_URL_PRIMARY: primary, RPC_URL_SECONDARY1: secondary1, RPC_URL_SECONDARY2: secondary2 };
  json = toJson(chains.world.config);
  writeFileSync(file, JSON.stringify(json));
});
after(async () => {
  await chains.revert();
  rmSync(folder, { recursive: true, force: true });
});

test("without --send it simulates everything, prints the costs, and sends nothing", async () => {
  const before = await sent();
  const { code, stdout, stderr } = await run([file]);
  equal(code, 0, stderr);
  match(stderr, /primary \(chain 31337\): \d+ gas, 0\.\d+ at today's price\./);
  match(stderr, /Nothing was sent: --send sends it\./);
  simulated = JSON.parse(stdout);
  ok(simulated.length === 3 && simulated.every(({ gasUsed }) => gasUsed > 5_000_000));
  deepEqual(await sent(), before);
});

test("--send needs the deployer's key and deploys as simulated", async () => {
  const keyless = await run([file, "--send"]);
  equal(keyless.code, 1);
  match(keyless.stderr, /^Set DEPLOYER_KEY/);
  const { code, stdout, stderr } = await send();
  equal(code, 0, stderr);
  match(stderr, /the deployer has no power/);
  deployed = JSON.parse(stdout);
  deepEqual(
    deployed.map(({ chainId, eid }) => ({ chainId, eid })),
    [31337, 31338, 31339].map((chainId) => ({ chainId, eid: chainId })),
  );
  const terms = ({ name, gasUsed, addresses }: Printed) => ({ name, gasUsed, addresses });
  deepEqual(deployed.map(terms), simulated.map(terms));
  match(deployed[0]?.addresses.inferenceSettlement ?? "", /^0x/);
  deepEqual(
    deployed.map(({ stablecoin }) => stablecoin),
    [
      { decimals: 6, symbol: "USDC" },
      { decimals: 18, symbol: "USDL" },
      { decimals: 6, symbol: "USDC" },
    ],
  );
});

test("a second --send prints the same deployment", { skip: !DEEP }, async () => {
  for (const url of Object.values(chains.rpcUrls)) {
    await createTestClient({ mode: "anvil", transport: http(url) }).mine({ blocks: 300 });
  }
  const again = await send();
  equal(again.code, 0, again.stderr);
  deepEqual(
    JSON.parse(again.stdout),
    deployed.map((chain) => ({ ...chain, gasUsed: 0 })),
  );
});

test("--verify passes until the file changes", async () => {
  equal((await run([file, "--verify"])).code, 0);
  const changed = join(folder, "changed.json");
  writeFileSync(changed, JSON.stringify({ ...json, dailyMintCap: "1" }));
  const verified = await run([changed, "--verify"]);
  equal(verified.code, 1);
  match(verified.stderr, /wired wrongly: DAILY_MINT_CAP\(\) of 0x\w+ is 100000000000, not 1/);
});

test("all errors of the file are reported together, unknown fields among them", async () => {
  const broken = join(folder, "broken.json");
  const { primary, ...others } = json.chains;
  writeFileSync(
    broken,
    JSON.stringify({ ...json, deployer: "me", chains: { primary: { ...primary, gaurdian: "x" }, ...others } }),
  );
  const main = fileURLToPath(new URL("deploy-main.ts", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [main, broken], { encoding: "utf8", env: environment });
  equal(status, 1);
  equal(stderr.trimEnd(), "deployer must be an address. chains.primary.gaurdian is unknown.");
  writeFileSync(broken, JSON.stringify({ ...json, chains: others }));
  match((await run([broken])).stderr, /^Exactly one chain must have a primary/);
  match((await run([])).stderr, /^npm run deploy:contracts -- <file>/);
  const noUrls = await run([file], { RPC_URL_SECONDARY1: "", RPC_URL_PRIMARY: "secret" });
  equal(noUrls.stderr.trimEnd(), "Set RPC_URL_PRIMARY, RPC_URL_SECONDARY1 to the http(s) URLs of the chains' nodes.");
});

function send() {
  const { privateKey } = deployer.getHdKey();
  return run([file, "--send"], { DEPLOYER_KEY: toHex(privateKey ?? new Uint8Array()) });
}

type Printed = {
  name: string;
  gasUsed: number;
  chainId: number;
  eid: number;
  block: number;
  addresses: Record<string, string>;
  stablecoin: { decimals: number; symbol: string };
};

function toJson(config: DeploymentConfig): { chains: Record<string, object> } {
  return {
    ...config,
    timelockDelaySeconds: Number(config.timelockDelaySeconds),
    dailyMintCap: String(config.dailyMintCap),
    messageGas: Number(config.messageGas),
  } as unknown as { chains: Record<string, object> };
}

function sent(): Promise<number[]> {
  return Promise.all(
    Object.values(chains.rpcUrls).map((url) =>
      createPublicClient({ transport: http(url) }).getTransactionCount({ address: deployer.address }),
    ),
  );
}

async function run(args: readonly string[], settings: Record<string, string> = {}) {
  const said: string[] = [];
  const printed: string[] = [];
  const code = await deployMain({
    args,
    variables: { ...environment, ...settings },
    say: (line) => void said.push(line),
    print: (text) => void printed.push(text),
  });
  return { code, stdout: printed.join("\n"), stderr: said.join("\n") };
}
