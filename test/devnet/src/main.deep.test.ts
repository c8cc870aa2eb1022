import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@inference/protocol/testing/eventually";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { ask } from "./ask.ts";
import { ACTIVATED_AMOUNT } from "./devnet.ts";
import { programs } from "./programs.ts";
import type { ReadyFile } from "./ready.ts";
import { keepActivating } from "./testing/activity.ts";
import { chat, readBlock, readCredits } from "./testing/api.ts";
import { deployedFolder, type Launched, launch, processesOf, stopLaunched, temporaryFolder } from "./testing/launch.ts";
import { creditOf, walletOn } from "./testing/wallet.ts";

after(stopLaunched);

const DEPLOYING = "Deploying the dollars";
const KEY = "my-own-key";
let provider: Awaited<ReturnType<typeof startProviderSimulator>>;
/** The settings of a provider of the user's own. */
const own = () => ({ UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: KEY });

before(async () => {
  provider = await startProviderSimulator({ port: 0, masterKey: KEY, adminKey: "another" });
});
after(() => provider?.close());

/** The last line, without progress. */
function lastLine(output: { stderr: string }): string {
  return output.stderr.trimEnd().split("\n").at(-1) ?? "";
}

test("an unknown flag is one line", async () => {
  const folder = temporaryFolder();
  const started = launch(folder.path, {}, "--frsh");
  equal(await started.exited, 1);
  match(started.output.stderr, /^Unknown option '--frsh'.*\n$/);
  folder.remove();
});

test("a start can be stopped while it deploys", async () => {
  const folder = temporaryFolder();
  const stopped = launch(folder.path);
  await eventually(() => stopped.output.stderr.includes(DEPLOYING));
  stopped.kill("SIGTERM");
  equal(await stopped.exited, 0);
  deepEqual(processesOf(folder.path), []);
  folder.remove();
});

/** The folder of the tests below, which depend on each other. */
const folder = deployedFolder();
const DAY_MS = 86_400_000;
let running: Launched;
let ready: ReadyFile;
after(() => folder.remove());

test("a devnet is ten processes: itself, three chains with a guard each, provider, keeper and gateway", async () => {
  running = launch(folder.path);
  ready = await running.ready();
  ok(running.output.stdout.includes(`${ready.gatewayUrl}/docs\n`), "the documentation's URL");
  equal(processesOf(folder.path).length, 10);
});

test("after a kill amid transactions no process is left, the next start continues, and tokens on their way arrive once", async () => {
  equal((await chat(ready, "alder-4b")).status, 200);
  const { total_usage_nano_usd: usage } = await eventually(async () => {
    const credits = await readCredits(ready.gatewayUrl, ready.apiKey);
    return credits.reserved_nano_usd === 0 && credits.total_usage_nano_usd > 0 && credits;
  });
  const before = walletOn(ready, "secondary2", 1);
  const primaryEid = ready.chains[0]?.chainId ?? 0;
  await before.mint(10_000_000n);
  // One that arrives: its block is final, so the kill cannot take it away.
  await before.bridge(primaryEid, 1_000_000n);
  await eventually(async () => (await walletOn(ready, "primary", 1).tokens()) === 1_000_000n);
  const sender = keepActivating(ready);
  const credited = async () => (await readCredits(ready.gatewayUrl, ready.apiKey)).total_credits_nano_usd;
  await eventually(async () => sender.sent >= 8 && (await credited()) > 25_000_000_000);
  for (let count = 0; count < 4; count += 1) await before.bridge(primaryEid, 1_000_000n);
  const final = await readBlock(ready.chains[0]?.rpcUrl ?? "", "finalized");
  running.kill("SIGKILL");
  sender.stop();
  await running.exited;
  await eventually(() => processesOf(folder.path).length === 0);
  const day = ask(folder.path, { command: "day", args: [], say: () => {} });
  await rejects(day, /^DevnetError: No devnet is running in .*: start one with npm start/);

  // As after `npm run devnet -- day`.
  writeFileSync(join(folder.path, "clock.json"), JSON.stringify({ offsetMs: DAY_MS }));
  running = launch(folder.path);
  const again = await running.ready();
  const { apiKey, contracts, wallets } = ready;
  deepEqual(again, { ...again, apiKey, contracts, wallets, clockOffsetMs: DAY_MS });
  for (const { rpcUrl } of again.chains) {
    const { timestamp } = await readBlock(rpcUrl, "latest");
    ok(Math.abs(timestamp * 1_000 - Date.now() - DAY_MS) < DAY_MS / 2, "the day is kept");
  }
  equal((await readBlock(again.chains[0]?.rpcUrl ?? "", `0x${final.number.toString(16)}`)).hash, final.hash);
  await eventually(async () => {
    const credits = await readCredits(again.gatewayUrl, again.apiKey);
    equal(credits.total_usage_nano_usd, usage);
    const total = credits.total_credits_nano_usd;
    return (
      total > 25_000_000_000 && BigInt(total - usage) === (await creditOf(again, again.wallets[0]?.address ?? "0x"))
    );
  });
  // The last transfers before the kill may be lost. The others arrive.
  const [here, there] = [walletOn(again, "primary", 1), walletOn(again, "secondary2", 1)];
  const sent = 10_000_000n - (await there.tokens());
  ok(sent > 0n);
  await eventually(async () => (await here.tokens()) === sent);
  await there.bridge(primaryEid, 1_000_000n);
  await eventually(async () => (await here.tokens()) === sent + 1_000_000n);
});

test("a child that dies is one line with its name, and ends everything", async () => {
  // One supervisor watches all programs of one table.
  const { script, name } = programs.keeper;
  const victim = processesOf(folder.path).find(({ command }) => command.includes(fileURLToPath(script)));
  ok(victim !== undefined);
  process.kill(victim.pid, "SIGKILL");
  equal(await running.exited, 1);
  equal(lastLine(running.output), `The ${name} was ended by SIGKILL.`);
  deepEqual(processesOf(folder.path), []);
});

test("a fresh start forgets accounts, keys and the day, and keeps the deployment and foreign files; here with a provider of the user's own", async () => {
  const notes = join(folder.path, "notes.txt");
  writeFileSync(notes, "mine");
  const aliases = { MODEL_ALIASES: '{"smart":"no-such-model","small":"sim-small"}' };
  const started = launch(folder.path, { ...own(), ...aliases }, "--fresh");
  const fresh = await started.ready();
  deepEqual([fresh.provider, fresh.clockOffsetMs], [{ url: provider.url }, 0]);
  const { stderr } = started.output;
  ok(!stderr.includes("simulator"), stderr);
  match(stderr, /^MODEL_ALIASES: the provider does not list no-such-model, which is called smart\.$/m);
  ok(!started.output.stderr.includes(DEPLOYING));
  deepEqual(fresh.contracts, ready.contracts);
  notEqual(fresh.apiKey, ready.apiKey);
  const credits = await readCredits(fresh.gatewayUrl, fresh.apiKey);
  deepEqual([credits.total_credits_nano_usd, credits.total_usage_nano_usd], [Number(ACTIVATED_AMOUNT) * 1_000, 0]);
  const headers = { authorization: `Bearer ${ready.apiKey}` };
  equal((await fetch(`${fresh.gatewayUrl}/api/v1/key`, { headers })).status, 401);
  for (const model of ["sim-small", "small"]) equal((await chat(fresh, model)).status, 200);
  ok(existsSync(notes));
  started.kill("SIGINT");
  equal(await started.exited, 0);
  deepEqual(processesOf(folder.path), []);
  equal(existsSync(join(folder.path, "ready.json")), false, "ready.json exists only while the devnet runs");
});
