import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@inference/protocol/testing/eventually";
import { ACTIVATED_AMOUNT } from "./devnet.ts";
import { programs } from "./programs.ts";
import type { ReadyFile } from "./ready.ts";
import { creditOnChain, keepActivating } from "./testing/activity.ts";
import { readCredits } from "./testing/api.ts";
import { deployedFolder, type Launched, launch, processesOf, stopLaunched, temporaryFolder } from "./testing/launch.ts";
import { walletOn } from "./testing/wallet.ts";

after(stopLaunched);

const DEPLOYING = "Deploying the dollars";

/** The last line, without progress. */
function lastLine(output: { stderr: string }): string {
  return output.stderr.trimEnd().split("\n").at(-1) ?? "";
}

test("a port in use is one line that names the setting", async () => {
  const folder = temporaryFolder();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  ok(typeof address === "object" && address !== null);
  const started = launch(folder.path, { CHAIN_PORT: String(address.port) });
  equal(await started.exited, 1);
  const line = `Port ${address.port} is in use: stop what uses it, or set CHAIN_PORT to another (0: any free one).\n`;
  deepEqual(started.output, { stdout: "", stderr: line });
  server.close();
  folder.remove();
});

test("wrong settings are one line before the start", async () => {
  const folder = temporaryFolder();
  const started = launch(folder.path, { GATEWAY_PORT: "abc", PRIMARY_CHAIN_ID: "8453" });
  equal(await started.exited, 1);
  match(started.output.stderr, /^PRIMARY_CHAIN_ID 8453 is not .* GATEWAY_PORT must be a port number .* not abc\.\n$/);
  folder.remove();
});

test("a damaged chain is one line with its file and what to do", async () => {
  const folder = temporaryFolder();
  for (const name of ["primary", "secondary1", "secondary2"]) {
    writeFileSync(join(folder.path, `${name}.json`), '{"block":');
  }
  writeFileSync(join(folder.path, "deployment.json"), '{"primary":{"chainId":31337,"block":1,"contracts":{}}}');
  const started = launch(folder.path);
  equal(await started.exited, 1);
  match(lastLine(started.output), /(primary|secondary[12])\.json is damaged: begin anew with npm start -- --fresh\.$/);
  deepEqual(processesOf(folder.path), []);
  folder.remove();
});

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
  const before = walletOn(ready, "secondary2", 1);
  const primaryEid = ready.chains[0]?.chainId ?? 0;
  await before.mint(10_000_000n);
  const sender = keepActivating(ready);
  await eventually(() => sender.sent >= 20);
  for (let count = 0; count < 5; count += 1) await before.bridge(primaryEid, 1_000_000n);
  running.kill("SIGKILL");
  sender.stop();
  await running.exited;
  await eventually(() => processesOf(folder.path).length === 0);

  running = launch(folder.path);
  const again = await running.ready();
  equal(again.apiKey, ready.apiKey);
  await eventually(async () => {
    const { total_credits_nano_usd: total } = await readCredits(again.gatewayUrl, again.apiKey);
    return total > 25_000_000_000 && BigInt(total) === (await creditOnChain(again));
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

test("a fresh start forgets accounts and keys, begins with the saved deployment, and keeps foreign files", async () => {
  const own = join(folder.path, "notes.txt");
  writeFileSync(own, "mine");
  const started = launch(folder.path, {}, "--fresh");
  const fresh = await started.ready();
  ok(!started.output.stderr.includes(DEPLOYING));
  deepEqual(fresh.contracts, ready.contracts);
  notEqual(fresh.apiKey, ready.apiKey);
  const credits = await readCredits(fresh.gatewayUrl, fresh.apiKey);
  deepEqual([credits.total_credits_nano_usd, credits.total_usage_nano_usd], [Number(ACTIVATED_AMOUNT) * 1_000, 0]);
  const headers = { authorization: `Bearer ${ready.apiKey}` };
  equal((await fetch(`${fresh.gatewayUrl}/api/v1/key`, { headers })).status, 401);
  ok(existsSync(own));
  started.kill("SIGINT");
  equal(await started.exited, 0);
  deepEqual(processesOf(folder.path), []);
  equal(existsSync(join(folder.path, "ready.json")), false, "ready.json exists only while the devnet runs");
});
