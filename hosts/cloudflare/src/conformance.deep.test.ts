import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startAnvil } from "@inference/chain/testing/anvil";
import { deploySettlement } from "@inference/chain/testing/settlement";
import { activate } from "@inference/gateway/test/fund";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { privateKeyToAddress } from "viem/accounts";
import { type Edge, startEdge } from "./testing/edge.ts";

/**
 * The suite that the other host passes, against this one, by its URL: every file of it but the one that reads the
 * suite's own README. workerd answers malformed HTTP itself, in the words that `test/conformance/src/front.ts` knows.
 */
const suite = fileURLToPath(new URL("../../../test/conformance/src/", import.meta.url));
const files = readdirSync(suite, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".test.ts") && name !== "table.test.ts",
);

const wallets = Array.from({ length: 8 }, (_, index) => `0x${(index + 1).toString(16).padStart(64, "0")}` as const);
const [first = "0x"] = wallets;
const agentToken: Address = "0x00000000000000000000000000000000000a9e47";

let anvil: Awaited<ReturnType<typeof startAnvil>>;
let edge: Edge;

before(async () => {
  anvil = await startAnvil();
  // A contract that answers everything with its owner's address.
  await anvil.rpc("anvil_setCode", [agentToken, `0x73${privateKeyToAddress(first).slice(2)}5f5260205ff3`]);
  const entry = new URL("testing/addressed-worker.ts", import.meta.url);
  const settings = {
    PRIMARY_RPC_URL: anvil.rpcUrl,
    SETTLEMENT_ADDRESS: await deploySettlement(anvil.rpcUrl),
    // Credits and the ceiling are put there below, and are not to be as on that chain.
    CHAIN_POLL_MS: "3600000",
    BASE_URL: "http://gateway.test",
  };
  edge = await startEdge(settings, { entry });
  // A provider that locks a key out after bad requests is not what is looked at here.
  const config = { method: "POST", body: JSON.stringify({ errorBudget: null, record: "off" }) };
  await fetch(`${edge.simulator.controlUrl}/config`, config);
  await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000_000_000_000 });
  for (const wallet of wallets) {
    await activate(edge.put, privateKeyToAddress(wallet), 10_000_000_000_000);
  }
});

after(async () => {
  await edge?.stop();
  await anvil?.stop();
});

test("the whole conformance suite passes", async (context) => {
  assert.ok(files.length >= 7, files.join(", "));
  const child = spawn(
    process.execPath,
    ["--test", "--test-concurrency=1", "--test-reporter=spec", ...files.map((file) => `${suite}${file}`)],
    {
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        NODE_NO_WARNINGS: "1",
        CONFORMANCE_URL: edge.url,
        CONFORMANCE_WALLETS: wallets.join(","),
        CONFORMANCE_AGENT: agentToken,
        CONFORMANCE_FRONT: "workerd",
        DEEP: "1",
        // 20,000 take two minutes here.
        FUZZ_REQUESTS: "20000",
        FUZZ_CONNECTIONS: "2000",
        // All of them within the five minutes of their message.
      },
    },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      said += data.toString();
    });
  }
  const [code] = await once(child, "exit");
  for (const line of said.matchAll(/^\u2139 (\d+ x .*)$/gm)) context.diagnostic(line[1] ?? "");
  assert.equal(code, 0, said.slice(Math.max(0, said.indexOf("failing tests"))).slice(0, 5_000));
  assert.match(said, /pass [1-9]\d/);
  assert.doesNotMatch(
    said,
    /^\s*\ufe63 (?!curl|Chromium|Codex|requests of translated APIs)/m,
    "skipped, and needs nothing that is missing here",
  );
  const accounts = wallets.map((wallet) => accountPartition(privateKeyToAddress(wallet)));
  await eventually(async () => {
    const read = accounts.map((account) => edge.read(account, { type: "balance", at: Date.now() }));
    for (const { heldNanoUsd } of await Promise.all(read)) assert.equal(heldNanoUsd, 0, "an account holds something");
  });
  assert.doesNotMatch(edge.output(), /"level":"alert","event":"(?!chain")/);
  // An error that a Worker throws is a 500 of the runtime, without an id.
  assert.doesNotMatch(edge.output(), /Uncaught exception/);
});
