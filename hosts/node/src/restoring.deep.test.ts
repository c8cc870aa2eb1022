import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { parseSettings } from "@inference/gateway/settings";
import { makeKey } from "@inference/gateway/test/fund";
import {
  accountPartition,
  agentPartition,
  ceilingPartition,
  chainPartition,
  identityPartition,
  type Partition,
} from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { sqlName, tableNames } from "@inference/ledger/schema";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { createPublicClient, http } from "viem";
import { withBooks } from "./chaos/books.ts";
import { askFor, gatewayEnvironment, gatewayUrl, launch } from "./chaos/processes.ts";
import { openDatabase } from "./database.ts";
import { restorePartition } from "./restore.ts";
import { nodeSettings } from "./settings.ts";
import { startProvider } from "./testing/site.ts";

/**
 * The page docs/restoring.md, run by its own commands: a real gateway on a real chain loses parts of its data. Each
 * time every use of each account is debited once, no credit is lost, and the difference is alerted.
 */
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/restoring.md"), "utf8");
/** The key of the settler of `startPrimaryChain`. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const CHAIN = chainPartition(31_337);
const [alice, bob]: [Address, Address] = [`0x${"a1".repeat(20)}`, `0x${"b2".repeat(20)}`];
const agent = agentPartition(`0x${"c3".repeat(20)}`);

const folder = mkdtempSync(join(tmpdir(), "restoring-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, "gateway.sqlite");
const backup = join(folder, "backup.sqlite");
const secret = randomBytes(32);
const credentials = makeCredentials(secret, { bytes: (length) => randomBytes(length) });
const keys = [alice, bob].map((address) => makeKey(credentials, address, {}));
const [ofAlice = assert.fail(), ofBob = assert.fail()] = keys;
const stolen = makeKey(credentials, alice, {});
const session = credentials.issue("is", alice);

let chain: PrimaryChain;
let provider: Awaited<ReturnType<typeof startProvider>>;
let environment: Record<string, string>;
let gateway: { url: string; stop(signal: NodeJS.Signals): Promise<unknown>; alerts(): string[] };
/** The cost of every served request, by account. */
const charges = new Map<Address, number[]>([alice, bob].map((address) => [address, []]));
const spent = (address: Address) => (charges.get(address) ?? []).reduce((sum, charge) => sum + charge, 0);

before(async () => {
  chain = await startPrimaryChain();
  provider = await startProvider();
  environment = {
    ...gatewayEnvironment({ databaseFile: file, secret: secret.toString("hex"), provider }),
    ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement, CHAIN_POLL_MS: "200" },
    ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), SETTLER_PRIVATE_KEY: privateKey },
    POST_USD: "0.000000001",
  };
  for (const address of [alice, bob]) await chain.activate(address, 5_000_000n);
  await chain.finalize();
  await withBooks(file, async (ledger) => {
    for (const { address, command } of [...keys, stolen]) {
      await ledger.run(() => send(accountPartition(address), command));
    }
    const terms = { digest: session.digest, address: alice, agentToken: null, expiresAt: Date.now() + 3_600_000 };
    await ledger.run(() => send(identityPartition(alice), { type: "openSession", at: Date.now(), ...terms }));
  });
  await start();
});
after(async () => {
  await gateway?.stop("SIGKILL");
  await provider?.close();
  await chain?.stop();
});

async function start(): Promise<void> {
  const process = launch({ script: "../main.ts", env: environment });
  const url = gatewayUrl(await process.ready);
  const alerts = () =>
    process
      .stderr()
      .split("\n")
      .filter((line) => line.includes('"alert"'));
  gateway = { url, alerts, stop: (signal) => process.kill(signal) };
}

/** Runs the commands under a heading of the page. */
async function follow(heading: string, variables: Record<string, string> = {}): Promise<string> {
  const commands = PAGE.split(`\n### ${heading}\n`)[1]?.match(/```sh\n([^`]+)```/)?.[1];
  assert.ok(commands !== undefined, heading);
  const env = { ...process.env, ...environment, BACKUP: backup, ...variables };
  // The program of `npm run gateway`, without npm and the dashboard's build.
  const direct = commands.replaceAll("npm run gateway --", `"${process.execPath}" hosts/node/src/main.ts`);
  const { stdout } = await promisify(execFile)("bash", ["-euc", direct], { cwd: ROOT, env });
  return stdout;
}

async function read(path: string, { key }: { key: string }): Promise<never> {
  const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (JSON.parse(text) as { data: never }).data;
}

/** A paid request. Answers its id once its charge is known. */
async function ask(account: { address: Address; key: string }): Promise<string> {
  const response = await askFor(gateway.url, account.key);
  assert.equal(response.status, 200, await response.text());
  const id = response.headers.get("x-request-id") ?? "";
  await eventually(async () => {
    const receipt: { charge_nano_usd: number } = await read(`/api/v1/generation?id=${id}`, account);
    charges.get(account.address)?.push(receipt.charge_nano_usd);
  });
  return id;
}

async function onChain(address: Address): Promise<{ activated: number; debited: number }> {
  const contract = { address: chain.settlement, abi: inferenceSettlementAbi, functionName: "accountOf" } as const;
  const reader = createPublicClient({ transport: http(chain.rpcUrl) });
  const [activated, debited] = await reader.readContract({ ...contract, args: [address] });
  return { activated: Number(activated), debited: Number(debited) };
}

/** The laws: of each account the chain debited what its requests cost, each once, and the gateway says the same. */
async function untilRight(): Promise<void> {
  await eventually(async () => {
    await chain.finalize();
    for (const account of keys) {
      const { activated, debited } = await onChain(account.address);
      assert.equal(debited, spent(account.address));
      const credits = await creditsOf(account);
      const { total_usage_nano_usd: used, debited_nano_usd: heard } = credits;
      assert.deepEqual([credits.total_credits_nano_usd, used, heard], [activated, debited, debited]);
    }
  });
}

type Credits = Record<`${"total_credits" | "total_usage" | "debited" | "taken_over"}_nano_usd`, number>;
const creditsOf = (account: { key: string }): Promise<Credits> => read("/api/v1/credits", account);
const takenOver = async (account: { key: string }) => (await creditsOf(account)).taken_over_nano_usd;

/** The alerts about alice's account since the gateway's start. */
function alerted(): number {
  const amounts = gateway.alerts().flatMap((line) => {
    const [, amount] = new RegExp(`${alice}: (?:takes over debits|adopts a statement) of (\\d+)`).exec(line) ?? [];
    return amount === undefined ? [] : [Number(amount)];
  });
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

/** As a disk that lost them. */
function lose(partition: Partition): void {
  const database = openDatabase(file);
  for (const table of tableNames) {
    database.prepare(`DELETE FROM ${sqlName(table)} WHERE partition = ?`).run(partition);
  }
  database.close();
}

let spentAtBackup = 0;

test("a whole file is put back: what was debited since is taken over and alerted, and what was credited is there", async () => {
  await ask(ofAlice);
  await ask(ofBob);
  await untilRight();
  spentAtBackup = spent(alice);
  assert.match(await follow("Back up"), /"event":"backed_up"/);

  const revoke = { method: "DELETE", headers: { authorization: `Bearer ${session.text}` } };
  assert.equal((await fetch(`${gateway.url}/api/v1/keys/${stolen.keyId}`, revoke)).status, 200);
  await ask(ofAlice);
  await ask(ofBob);
  await chain.activate(alice, 2_000_000n);
  await untilRight();
  await ask(ofAlice);
  // On the chain, and not final. A transaction that is only stored might never be sent.
  await eventually(async () => assert.equal((await onChain(alice)).debited, spent(alice)));
  await gateway.stop("SIGKILL");

  await follow("Put back the whole file");
  await start();
  await untilRight();
  assert.equal(await takenOver(ofAlice), spent(alice) - spentAtBackup);
  assert.equal(alerted(), spent(alice) - spentAtBackup);
  assert.equal((await askFor(gateway.url, stolen.key)).status, 401, "a key that was revoked after the backup");
  await ask(ofAlice);
  await untilRight();
});

const usedOfCeiling = () =>
  withBooks(file, async (ledger) => {
    const { settledNanoUsd, heldNanoUsd } = await ledger.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    return [settledNanoUsd, heldNanoUsd];
  });

test("a lost ceiling, an account and a lost chain partition are put right, and others stay as they are", async () => {
  const receipt = await ask(ofBob);
  await untilRight();
  const ofBobBefore = await takenOver(ofBob);
  await gateway.stop("SIGTERM");
  const before = await usedOfCeiling();
  assert.ok((before[0] ?? 0) > 0);
  lose(ceilingPartition);
  await follow("A lost ceiling");
  assert.deepEqual(await usedOfCeiling(), before);
  const done = await follow("Put back one account or identity", { PARTITION: `account:${alice}` });
  assert.match(done, /"event":"restored"/);
  lose(CHAIN);
  await follow("A lost chain partition");
  await start();
  await eventually(async () => {
    await chain.finalize();
    const { checks } = (await (await fetch(`${gateway.url}/healthz`)).json()) as { checks: { ledger: string } };
    assert.equal(checks.ledger, "ok");
  });
  const since = spent(alice) - spentAtBackup;
  await ask(ofAlice);
  await ask(ofBob);
  await untilRight();
  assert.deepEqual([await takenOver(ofAlice), alerted()], [since, since]);
  assert.equal(await takenOver(ofBob), ofBobBefore);
  assert.deepEqual(
    gateway.alerts().filter((line) => !line.includes(alice)),
    [],
  );
  assert.ok(await read(`/api/v1/generation?id=${receipt}`, ofBob));
  assert.equal((await askFor(gateway.url, stolen.key)).status, 401);
});

test("a restore names what it cannot do, and changes nothing", async () => {
  await gateway.stop("SIGTERM");
  const before = await usedOfCeiling();
  const cases: [partition: string, said: RegExp][] = [
    [`account:0x${"d4".repeat(20)}`, /has nothing of account:.+Nothing was changed/],
    ["accounts", /There is no partition accounts/],
    ["ceiling", /ceiling is never restored from a backup/],
  ];
  const settings = parseSettings(nodeSettings, environment);
  for (const [partition, said] of cases) await assert.rejects(restorePartition(settings, partition, backup), said);
  await assert.rejects(restorePartition(settings, agent), /Name the backup that has identity:agent:/);
  assert.deepEqual(await usedOfCeiling(), before);
});
