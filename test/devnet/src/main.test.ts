import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { creditOnChain, keepActivating } from "./testing/activity.ts";
import { readCredits } from "./testing/api.ts";
import { deployedFolder, launch, processesOf, stopLaunched, temporaryFolder } from "./testing/launch.ts";
import { walletOn } from "./testing/wallet.ts";

after(stopLaunched);

/** What it said last, without its progress. */
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

for (const [what, settings, says] of [
  ["a port that is none", { GATEWAY_PORT: "http" }, /^GATEWAY_PORT must be a port number/],
  [
    "several wrong settings",
    { GATEWAY_PORT: "abc", CHAIN_PORT: "70000", PROVIDER_PORT: "-1", PRIMARY_CHAIN_ID: "1" },
    /^PRIMARY_CHAIN_ID 1 .*GATEWAY_PORT must .* not abc\. CHAIN_PORT must .* not 70000\. PROVIDER_PORT must .* not -1\.$/m,
  ],
  ["a port for two", { CHAIN_PORT: "8787", GATEWAY_PORT: "" }, /^CHAIN_PORT and GATEWAY_PORT are both 8787: /],
  ["a folder that cannot be made", { DEVNET_DIR: "/proc/x/y" }, /^\/proc\/x\/y cannot be used .*: set DEVNET_DIR to/],
  ["half a provider", { UPSTREAM_BASE_URL: "http://127.0.0.1:9/v1" }, /^UPSTREAM_BASE_URL is set and UPSTREAM_API_KEY/],
  [
    "a chain that is not local",
    { PRIMARY_CHAIN_ID: "8453" },
    /^PRIMARY_CHAIN_ID 8453 is not a local chain .*development keys/,
  ],
  ["a chain of somebody else", { PRIMARY_RPC_URL: "http://127.0.0.1:9" }, /^PRIMARY_RPC_URL is set, but npm start has/],
] as const) {
  test(`${what} is one line, before anything is started`, async () => {
    const folder = temporaryFolder();
    const started = launch(folder.path, settings);
    equal(await started.exited, 1);
    match(started.output.stderr, says);
    equal(started.output.stderr.split("\n").length, 2);
    folder.remove();
  });
}

test("a setting that the gateway refuses is one line with its name, and nothing stays; PORT is told and not read", async () => {
  const folder = deployedFolder();
  const started = launch(folder.path, { MODEL_ALIASES: "no json", PORT: "none of ours" });
  equal(await started.exited, 1);
  match(started.output.stderr, /^PORT is set, but npm start does not read it: GATEWAY_PORT is the gateway's port\.$/m);
  match(lastLine(started.output), /^The gateway ended with code 1: .*MODEL_ALIASES/);
  deepEqual(processesOf(folder.path), []);
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

test("a child that dies is one line with its name, and ends everything", async () => {
  const folder = deployedFolder();
  const children = [
    ["keeper/src/main.ts", "keeper"],
    ["hosts/node/src/main.ts", "gateway"],
    ["test/provider-simulator/src/main.ts", "provider simulator"],
    ["--chain-id 31337", "primary chain"],
    ["test/devnet/src/relayer/main.ts", "relayer"],
  ] as const;
  // One supervisor watches them all.
  for (const [script, name] of process.env.DEEP === "1" ? children : children.slice(0, 1)) {
    const started = launch(folder.path);
    await started.ready();
    const victim = processesOf(folder.path).find(
      ({ command }) => command.includes(script) && !command.includes("run-program.ts"),
    );
    ok(victim !== undefined, name);
    process.kill(victim.pid, "SIGKILL");
    equal(await started.exited, 1);
    match(
      lastLine(started.output),
      new RegExp(`^The ${name} (was ended by SIGKILL\\.|ended with code 1: killed by SIGKILL)$`),
    );
    deepEqual(processesOf(folder.path), []);
  }
  folder.remove();
});

test("nothing outlives a devnet that was killed amid transactions, the next start continues, and tokens on their way arrive once", async () => {
  const folder = deployedFolder();
  const started = launch(folder.path);
  const ready = await started.ready();
  const expected =
    "the devnet, three chains each run by run-program.ts, the provider, the relayer, the keeper and the gateway";
  equal(processesOf(folder.path).length, 11, expected);
  const before = walletOn(ready, "secondary2", 1);
  const primaryEid = ready.chains[0]?.chainId ?? 0;
  await before.mint(10_000_000n);
  const sender = keepActivating(ready);
  await eventually(() => sender.sent >= 20);
  for (let count = 0; count < 5; count += 1) await before.bridge(primaryEid, 1_000_000n);
  started.kill("SIGKILL");
  sender.stop();
  await started.exited;
  await eventually(() => processesOf(folder.path).length === 0, 5_000);

  const next = launch(folder.path);
  const again = await next.ready();
  equal(again.apiKey, ready.apiKey);
  await eventually(async () => {
    const { total_credits_nano_usd: total } = await readCredits(again.gatewayUrl, again.apiKey);
    return total > 25_000_000_000 && BigInt(total) === (await creditOnChain(again));
  });
  // What was sent in the last moment before the end may not have happened; what has, arrives.
  const [here, there] = [walletOn(again, "primary", 1), walletOn(again, "secondary2", 1)];
  const sent = 10_000_000n - (await there.tokens());
  ok(sent > 0n);
  await eventually(async () => (await here.tokens()) === sent, 30_000);
  await there.bridge(primaryEid, 1_000_000n);
  await eventually(async () => (await here.tokens()) === sent + 1_000_000n, 30_000);
  next.kill("SIGINT");
  equal(await next.exited, 0);
  deepEqual(processesOf(folder.path), []);
  equal(existsSync(join(folder.path, "ready.json")), false, "ready.json is there only while all runs");
  folder.remove();
});

test("a start can be stopped before it is ready, and the next one deploys; a fresh one begins with what that saved", async () => {
  const folder = temporaryFolder();
  const stopped = launch(folder.path);
  await eventually(() => stopped.output.stderr.includes("Deploying the dollars"));
  stopped.kill("SIGTERM");
  equal(await stopped.exited, 0);
  deepEqual(processesOf(folder.path), []);
  const run = async (...flags: string[]) => {
    const started = launch(folder.path, {}, ...flags);
    const ready = await started.ready();
    started.kill("SIGINT");
    equal(await started.exited, 0);
    return { contracts: ready.contracts, deployed: started.output.stderr.includes("Deploying the dollars") };
  };
  const first = await run();
  ok(first.deployed);
  const own = join(folder.path, "notes.txt");
  writeFileSync(own, "mine");
  const restored = await run("--fresh");
  equal(restored.deployed, false);
  deepEqual(restored.contracts, first.contracts);
  ok(existsSync(own), "--fresh removes what a devnet wrote and nothing else");
  writeFileSync(join(folder.path, "saved-secondary1.json"), "{}");
  ok((await run("--fresh")).deployed, "a damaged one is not begun with");
  folder.remove();
});
