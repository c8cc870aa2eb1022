import { deepEqual, match } from "node:assert/strict";
import { test } from "node:test";
import { leafOf } from "@inference/protocol/use-leaf";
import { connect } from "@inference/sdk/connection";
import { custom } from "viem";
import { checkReceipt } from "./check-receipt.ts";

/** The check of one receipt, against a gateway that lies and a node that does not. */
const ACCOUNT = `0x${"9".repeat(40)}` as const;
const SETTLEMENT = `0x${"1".repeat(40)}` as const;
const ID = "req_00000000000000000000000000";
const HUNDRED_DOLLARS = 100_000_000_000;
const use = { batch: 3, account: ACCOUNT, receipt: ID, costNanoUsd: HUNDRED_DOLLARS, dayServed: 20_758 };
const leaf = leafOf({ chainId: 1, address: SETTLEMENT }, use);
const receipt = {
  ...{ id: ID, upstream_id: "chatcmpl-1", model: "alder-4b", created_at: "2026-11-01T00:00:00Z" },
  ...{ total_cost: 100, charge_nano_usd: HUNDRED_DOLLARS, served_by: "protocol", offer: null },
  settlement: { status: "final", batch: 3, leaf, proof: [], transaction: `0x${"2".repeat(64)}` },
};

test("a receipt is found by its id and by the id in the answer's body, and each step is right", async () => {
  for (const id of [ID, "chatcmpl-1"]) {
    const findings = await check(id);
    deepEqual(
      findings.map(({ outcome }) => outcome),
      ["pass", "pass", "pass"],
    );
    match(findings[0]?.detail ?? "", /charged \$100$/);
  }
});

test("the charge that is shown is the charge that is proved", async () => {
  const [first] = await check(ID, { total_cost: 0.01 });
  match(first?.detail ?? "", /charged \$100$/);
});

test("another receipt than the one that was asked for is wrong, and is not followed", async () => {
  const findings = await check("req_01000000000000000000000000");
  deepEqual(
    findings.map(({ outcome }) => outcome),
    ["fail"],
  );
  match(findings[0]?.detail ?? "", /another receipt: req_0{26}/);
});

test("a receipt that names another server than its leaf has is wrong", async () => {
  const findings = await check(ID, { served_by: `0x${"7".repeat(40)}`, offer: `0x${"8".repeat(64)}` });
  deepEqual(
    findings.map(({ outcome }) => outcome),
    ["pass", "fail", "fail"],
  );
});

/** Checks what a gateway answers with this receipt. The root of its batch is the leaf of the honest one. */
function check(id: string, changed: Record<string, unknown> = {}) {
  const chain = {
    ...{ chain_id: 1, name: "one", role: "primary", layerzero_eid: 1, rpc_url: null, start_block: 0 },
    contracts: { inferenceSettlement: SETTLEMENT },
  };
  const answers: Record<string, unknown> = {
    "/api/v1/contracts": { data: { chains: [chain] } },
    "/api/v1/generation": { data: { ...receipt, ...changed } },
  };
  const node = custom({
    request: async ({ method }: { method: string }) => {
      if (method === "eth_chainId") return "0x1";
      if (method === "eth_getBlockByNumber") return { number: "0x64", timestamp: "0x1", transactions: [] };
      if (method === "eth_call") return leaf;
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
