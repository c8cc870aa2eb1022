import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { privateKeyToAddress } from "viem/accounts";
import { type Edge, startEdge } from "./testing/edge.ts";

/** The check that an operator runs against a staging deployment, here against local workerd. */
const program = fileURLToPath(new URL("../../../test/conformance/src/deployment/main.ts", import.meta.url));
const privateKey = `0x${"5".padStart(64, "0")}` as const;
const account = accountPartition(privateKeyToAddress(privateKey));

let chain: PrimaryChain;
let edge: Edge;
before(async () => {
  chain = await startPrimaryChain();
  edge = await startEdge({
    PRIMARY_RPC_URL: chain.rpcUrl,
    SETTLEMENT_ADDRESS: chain.settlement,
    SETTLEMENT_START_BLOCK: String(chain.startBlock),
    CHAIN_POLL_MS: "100",
  });
  await chain.finalize();
  await eventually(async () => {
    const response = await fetch(`${edge.url}/healthz`);
    assert.equal(((await response.json()) as { status: string }).status, "ok");
  });
  await chain.activate(privateKeyToAddress(privateKey), 10_000_000n);
  await chain.finalize();
});
after(async () => {
  await edge?.stop();
  await chain?.stop();
});

async function check(...args: string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [program, edge.url, "--model", "sim-small", ...args], {
    env: { PATH: process.env.PATH, NODE_NO_WARNINGS: "1", CHECK_PRIVATE_KEY: privateKey },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said };
}

function awaitCeiling(nanoUsd: number): Promise<void> {
  return eventually(async () => {
    const { limitNanoUsd } = await edge.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    assert.equal(limitNanoUsd, nanoUsd);
  });
}

/** A deployment evicts every object. */
function evictAll(): string {
  const calls = [account, ceilingPartition].map(
    (partition) =>
      `fetch("${edge.url}/__ledger", { method: "POST", body: ${JSON.stringify(JSON.stringify({ partition, call: ["evict"] }))} })`,
  );
  return `${process.execPath} -e '${calls.join(";")}'`;
}

test("the check says what is wrong", async () => {
  // Before any request: an account with a piece of the ceiling goes on for a minute.
  await chain.lowerCeiling(0n);
  await awaitCeiling(0);
  const { code, said } = await check();
  assert.equal(code, 1, said);
  assert.match(said, /^WRONG {2}chat: .*503 .*\(10 times\)$/m);
  await chain.raiseCeiling(50_000_000_000n);
  await chain.finalize();
  await awaitCeiling(50_000_000_000);
});

test("the check makes 42 calls, survives a deployment, and finds the books right", async () => {
  const { code, said } = await check("--deploy", evictAll());
  assert.equal(code, 0, said);
  assert.match(said, /^42 calls of sim-small$/m);
  assert.match(said, /^stream, first text +p50 \d+ ms, p90 \d+ ms, most \d+ ms \(10\)$/m);
  const [, whole, begun] = /^while deployed: (\d+) of (\d+) streams whole/m.exec(said) ?? assert.fail(said);
  assert.equal(whole, begun);
  assert.ok(Number(begun) >= 100, "streams are opened until ten seconds after the command");
  assert.match(said, /Nothing is wrong/);
});

test("the check reports all findings of a gateway that does not come back", async () => {
  process.once("SIGHUP", () => void edge.restart());
  const { code, said } = await check("--deploy", `kill -HUP ${process.pid}`);
  assert.equal(code, 1, said);
  assert.match(said, /^37 receipts come to \d+ nano-dollars/m);
  for (const problem of ["\\d+ streams were cut", "the books cannot be checked", "the keys may not be revoked"]) {
    assert.match(said, new RegExp(`^WRONG {2}${problem}`, "m"));
  }
});
