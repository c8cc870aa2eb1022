import { deepEqual, equal, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { eventually } from "@inference/protocol/testing/eventually";
import { topUpAnswer, topUpMessageAnswer } from "@inference/protocol/wire/top-up";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { createPublicClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { shareDevnet, type TestedDevnet } from "./testing/shared-devnet.ts";

/** Programs that pay by signatures: the gateway, the keeper's relay and the contracts on three chains. */
let devnet: TestedDevnet;
before(async () => {
  devnet = await shareDevnet(4);
});

test("the official x402 client, unchanged, pays on the chain, is served, and its signer has the rest", async () => {
  const { gatewayUrl, chains, contracts } = devnet.ready;
  const account = accountOf(3);
  const { data } = (await (await fetch(`${gatewayUrl}/v1/models`)).json()) as { data: { id: string; type: string }[] };
  const model = data.find(({ type }) => type === "text")?.id;
  const chat = { model, max_tokens: 50, messages: [{ role: "user", content: "hello" }] };
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: `eip155:${chains[0]?.chainId ?? 0}`, client: new ExactEvmScheme(account) }],
    // The client knows the dollars of real chains by itself.
    spendControls: { allowedAssets: true },
  });
  const answer = await pay(`${gatewayUrl}/api/v1/chat/completions`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(chat) },
  });
  equal(answer.status, 200, await answer.clone().text());
  const { success, transaction } = decodePaymentResponseHeader(answer.headers.get("payment-response") ?? "");
  equal(success, true);
  const node = createPublicClient({ transport: http(chains[0]?.rpcUrl) });
  equal((await node.getTransactionReceipt({ hash: transaction as Hex })).status, "success");
  const credit = await node.readContract({
    ...{ address: contracts.primary?.inferenceSettlement ?? "0x", abi: inferenceSettlementAbi },
    ...{ functionName: "creditNanoUsd", args: [account.address] },
  });
  equal(credit, 100_000_000n, "the whole payment is credit on the chain");
  const left = Number(answer.headers.get("x-balance-usd"));
  ok(left > 0 && left < 0.1, String(left));
});

test("a top-up by signature alone is credited, from the primary chain and from one whose dollar has permits only", async () => {
  const { gatewayUrl, chains } = devnet.ready;
  for (const [index, { chainId }] of [...chains.entries()].slice(0, 2)) {
    const account = accountOf(1 + index);
    const query = new URLSearchParams({ owner: account.address, amount: "2.00", chain_id: String(chainId) });
    const asked = await fetch(`${gatewayUrl}/api/v1/top-up/message?${query}`);
    const { data } = topUpMessageAnswer.parse(await asked.json());
    const signatures = await Promise.all(data.sign.map((typed) => account.signTypedData(typed as never)));
    const body = {
      ...{ chain_id: chainId, top_up: data.top_up, signature: signatures[0] },
      ...(data.permit_deadline === null
        ? {}
        : { permit: { deadline: data.permit_deadline, signature: signatures[1] } }),
    };
    const sent = await fetch(`${gatewayUrl}/api/v1/top-up`, {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    });
    equal(sent.status, 200, await sent.clone().text());
    const { id } = topUpAnswer.parse(await sent.json()).data;
    equal(id, data.id);
    const over = await eventually(async () => {
      const found = topUpAnswer.parse(await (await fetch(`${gatewayUrl}/api/v1/top-up/${id}`)).json()).data;
      return found.state === "credited" && found;
    });
    deepEqual([over.account, over.amount_token], [account.address.toLowerCase(), "2000000"]);
  }
});

function accountOf(index: number) {
  return privateKeyToAccount((devnet.ready.wallets[index]?.privateKey ?? "0x") as Hex);
}
