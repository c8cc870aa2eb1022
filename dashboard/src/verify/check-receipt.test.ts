import { deepEqual, match } from "node:assert/strict";
import { test } from "node:test";
import { makeLeafOf } from "@inference/protocol/use-leaf";
import { connect } from "@inference/sdk/connection";
import { ACCOUNT, AGENT, CENT, evidenceOf, honestStory, SETTLEMENT } from "@inference/sdk/testing/told-bill";
import { settledUseOf } from "@inference/sdk/verify/statements";
import { bytesToHex, custom, toHex } from "viem";
import { checkReceipt } from "./check-receipt.ts";

/** The check of one receipt, against a gateway that lies and a node that does not. */
const evidence = evidenceOf(honestStory());
const { uses, records } = evidence.said;
const [listed, record] = [evidence.said.receipts[3], records[2]];
const ID = listed?.id ?? "";
const leafOf = makeLeafOf({ chainId: 1, address: SETTLEMENT }, ACCOUNT);
const statement = { before_nano_usd: 3 * CENT, after_nano_usd: 5 * CENT, root: record?.root };
const leaves = uses.slice(3, 5).map((use) => leafOf(settledUseOf(use), statement.before_nano_usd));
const settlement = {
  ...{ status: "final", ends_at_nano_usd: uses[3]?.ends_at_nano_usd, statement, record, leaf: null },
  proof: [bytesToHex(leaves[1] ?? new Uint8Array())],
};
const stored = record?.chunk.root ?? "";
const receipt = { ...listed, upstream_id: "chatcmpl-1", total_cost: 0.01, settlement };

test("a receipt is found by its id and by the id in the answer's body, and each step is right", async () => {
  for (const id of [ID, "chatcmpl-1"]) {
    const findings = await check(id);
    deepEqual(
      findings.map(({ outcome }) => outcome),
      ["pass", "pass", "pass"],
    );
    match(findings[0]?.detail ?? "", /charged \$0\.01$/);
  }
});

test("the shown charge is the proved one", async () => {
  const [first] = await check(ID, { total_cost: 100 });
  match(first?.detail ?? "", /charged \$0\.01$/);
});

test("a receipt with another id than requested is wrong, and is not followed", async () => {
  const findings = await check("req_01000000000000000000000000");
  deepEqual(
    findings.map(({ outcome }) => outcome),
    ["fail"],
  );
  match(findings[0]?.detail ?? "", /another receipt: req_03/);
});

test("a receipt that names another server or other prices than its leaf has is wrong", async () => {
  for (const changed of [{ served_by: AGENT, offer: `0x${"8".repeat(64)}` }, { price_snapshot: "d".repeat(32) }]) {
    const findings = await check(ID, changed);
    deepEqual(
      findings.map(({ outcome }) => outcome),
      ["pass", "fail", "pass"],
    );
  }
});

test("all uses of a long statement are read, and this one must be among them", async () => {
  const long = { settlement: { ...settlement, proof: null } };
  deepEqual(
    (await check(ID, long)).map(({ outcome }) => outcome),
    ["pass", "pass", "pass"],
  );
  deepEqual(
    (await check(ID, { ...long, charge_nano_usd: 1 })).map(({ outcome }) => outcome),
    ["pass", "fail", "pass"],
  );
});

test("a debit that the contract does not have, or with another amount, is wrong", async () => {
  const elsewhere = { ...record, chunk: { ...record?.chunk, root: `0x${"0".repeat(64)}` } };
  for (const wrong of [elsewhere, { ...record, amount_nano_usd: 1 }]) {
    const findings = await check(ID, { settlement: { ...settlement, record: wrong } });
    deepEqual(findings.at(-1)?.outcome, "fail");
  }
});

/** Checks what a gateway answers with this receipt, and an honest node. */
function check(id: string, changed: Record<string, unknown> = {}) {
  const chain = {
    ...{ chain_id: 1, name: "one", role: "primary", layerzero_eid: 1, rpc_url: null, start_block: 0 },
    contracts: { inferenceSettlement: SETTLEMENT },
  };
  const answers: Record<string, unknown> = {
    "/api/v1/contracts": { data: { chains: [chain] } },
    "/api/v1/generation": { data: { ...receipt, ...changed } },
    "/api/v1/statements/uses": { data: uses.slice(3), next_after: null },
  };
  const node = custom({
    request: async ({ method, params }: { method: string; params: [{ data: string }] }) => {
      if (method === "eth_chainId") return "0x1";
      if (method === "eth_getBlockByNumber") return { number: "0x64", timestamp: "0x1", transactions: [] };
      // `blockOf` of the chunk's root.
      if (method === "eth_call") return toHex(params[0].data.endsWith(stored.slice(2)) ? 9 : 0, { size: 32 });
      throw new Error(`no ${method}`);
    },
  });
  const connection = connect({
    gateway: "https://gateway.example",
    apiKey: "key",
    fetch: async (input) => Response.json(answers[new URL(String(input)).pathname]),
    chains: { 1: { transport: node } },
  });
  return checkReceipt(connection, { account: ACCOUNT, id, node: "my node" });
}
