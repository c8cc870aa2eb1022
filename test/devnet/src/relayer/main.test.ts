import { equal, match } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@inference/protocol/testing/eventually";
import { balanceOf, bob, confirmAll, DOLLAR, type Network, startNetwork } from "./testing/network.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "relayer-main-"));
const file = join(folder, "relayer.json");
let network: Network;

before(async () => {
  network = await startNetwork();
});
after(async () => {
  await network[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("a relayer that is killed again and again amid messages delivers each of them, and each once", async () => {
  const { keys, ...settings } = network.settings({ databaseFile: join(folder, "relayer.sqlite") });
  writeFileSync(file, JSON.stringify(settings));
  const environment = {
    RELAYER_FILE: file,
    VERIFIER_KEY_1: keys.verifiers[0],
    VERIFIER_KEY_2: keys.verifiers[1],
    EXECUTOR_KEY: keys.executor,
  };
  for (let round = 0; round < 3; round += 1) {
    const { child, says } = launch(environment);
    await eventually(() => says().includes("relaying"));
    for (let count = 0; count < 4; count += 1) await network.send(DOLLAR);
    await confirmAll(network.here);
    const before = await received();
    await eventually(async () => (await received()) > before);
    child.kill("SIGKILL");
    await ended(child);
  }
  const { child, says } = launch(environment);
  await eventually(async () => (await received()) === 12n * DOLLAR);
  child.kill("SIGTERM");
  equal(await ended(child), 0, says());
  equal(await received(), 12n * DOLLAR);
});

test("what is wrong with its settings is told in one line, all of it", async () => {
  const wrong = join(folder, "wrong.json");
  writeFileSync(wrong, JSON.stringify({ databaseFile: "", chains: [{ eid: -1, rpcUrls: { executor: "nowhere" } }] }));
  const key = `0x${"1".repeat(64)}`;
  const { child, says } = launch({ RELAYER_FILE: wrong, VERIFIER_KEY_1: key, VERIFIER_KEY_2: key });
  equal(await ended(child), 1);
  equal(says().split("\n").length, 2);
  for (const part of [
    /EXECUTOR_KEY must be a private key/,
    /VERIFIER_KEY_1 and VERIFIER_KEY_2 are the same/,
    /databaseFile must be a text/,
    /chains\.0\.eid must be a whole number/,
    /verifiers must be two/,
    /chains\.0\.rpcUrls\.executor must be an http\(s\) URL/,
  ]) {
    match(says(), part);
  }
});

test("a missing or broken file is named", async () => {
  const { child, says } = launch({});
  equal(await ended(child), 1);
  match(says(), /RELAYER_FILE must name the relayer's JSON file/);
  const absent = launch({ RELAYER_FILE: join(folder, "absent.json") });
  equal(await ended(absent.child), 1);
  match(absent.says(), /^RELAYER_FILE: .*absent\.json cannot be read/);
});

function received(): Promise<bigint> {
  return balanceOf(network.there, bob.address);
}

function launch(environment: Record<string, string>): { child: ChildProcess; says(): string } {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  return { child, says: () => text };
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once("close", resolve));
}
