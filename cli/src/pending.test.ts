import { match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "@inference/sdk";
import { custom, keccak256 } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Context } from "./context.ts";
import { finish } from "./pending.ts";
import { failureOf } from "./run.ts";

const account = privateKeyToAccount(generatePrivateKey());
const token = `0x${"1".repeat(40)}`;
const chain = {
  ...{ chain_id: 1, name: "primary", role: "primary", layerzero_eid: 1, rpc_url: null, start_block: 0 },
  ...{ stablecoin: { decimals: 6, symbol: "USD" }, contracts: { inferenceToken: token } },
};
const gateway = async (): Promise<Response> => Response.json({ data: { chains: [chain] } });

/** A node that refuses every transaction with a reason. */
const node = custom(
  {
    async request({ method }: { method: string }) {
      if (method === "eth_chainId") return "0x1";
      if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") return null;
      if (method === "eth_getTransactionCount") return "0x0";
      throw Object.assign(new Error("max fee per gas less than block base fee"), { code: -32000 });
    },
  },
  { retryCount: 0 },
);

test("for a stored transaction that the node refuses, the reason, the consequence and the remedy are shown", async () => {
  const said: string[] = [];
  const context = { say: (line: string) => void said.push(line) } as unknown as Context;
  const terms = { gateway: "https://gateway.example", fetch: gateway, pollMs: 1, chains: { 1: { transport: node } } };
  const connection = { ...connect({ ...terms, account }), account };
  const serialized = await account.signTransaction({ chainId: 1, type: "eip1559", maxFeePerGas: 1n, nonce: 0 });
  const signed = { step: "mint", chainId: 1, hash: keccak256(serialized), serialized } as const;
  const left = { gateway: "", account: account.address, intent: "mint $1", madeAt: new Date().toISOString(), signed };
  await rejects(finish(context, connection, left), (error) => {
    match(failureOf(error)?.message ?? "", /max fee per gas/);
    return true;
  });
  match(said.join("\n"), /Nothing else is paid before it has ended\. `infer resume` .+ --forget/);
});
