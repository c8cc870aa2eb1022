import { ok } from "node:assert/strict";
import { test } from "node:test";
import { parseSiweMessage } from "@inference/protocol/siwe";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { connect } from "./connection.ts";
import { prepareKeyRequest } from "./keys.ts";

const HOUR_MS = 3_600_000;

for (const hours of [-30, 0, 30]) {
  test(`a message is dated by the gateway's clock, which is ${hours} hours ahead`, async () => {
    const time = Date.now() + hours * HOUR_MS;
    const answers: Record<string, unknown> = {
      "/api/v1/status": { time: new Date(time).toISOString() },
      "/api/v1/contracts": { chains: [{ chain_id: 1, role: "primary", contracts: {} }], abis: {} },
    };
    const connection = connect({
      gateway: "https://gateway.example",
      account: privateKeyToAccount(generatePrivateKey()),
      fetch: async (input) => Response.json({ data: answers[new URL(String(input)).pathname] }),
    });
    const { message } = await prepareKeyRequest(connection, { type: "create", terms: {} });
    const difference = (parseSiweMessage(message)?.issuedAt ?? 0) - time;
    ok(Math.abs(difference) < 60_000, `${difference} ms`);
  });
}
