import { equal, rejects } from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { test } from "node:test";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { refusalSentence } from "./contract-errors.ts";
import { connect, createClient, createKey, readCredits, readStatus } from "./index.ts";

/** Errors that come neither from the gateway nor from a contract have their own codes. */
async function served(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  await using server = await listenLocally(createServer(listener));
  await use(server.url);
}

const account = privateKeyToAccount(generatePrivateKey());
const chain = { chain_id: 31_337, role: "primary", name: null, layerzero_eid: 1, stablecoin: null, contracts: {} };
const gatewayWith =
  (rpcUrl: string | null): RequestListener =>
  (_, response) =>
    void response.end(JSON.stringify({ data: { chains: [{ ...chain, rpc_url: rpcUrl }], abis: {} } }));

test("a contract's error is a sentence, and an unknown one is named with its values", () => {
  equal(refusalSentence("Paused", [0n]), "The contract is paused until 1970-01-01T00:00:00.000Z. Nothing was sent.");
  equal(refusalSentence("Odd", [1n, "0x2"]), "The contract would refuse: Odd(1, 0x2). Nothing was sent.");
});

test("a foreign server, or none, is unreachable", async () => {
  const answers: RequestListener[] = [
    (_, response) => void response.end("<html>"),
    (_, response) => void response.writeHead(502).end("bad gateway"),
    (_, response) => void response.writeHead(500).end('{"error":"other"}'),
    (_, response) => void response.writeHead(302, { location: "/elsewhere" }).end(),
    (request) => void request.socket.destroy(),
  ];
  for (const answer of answers) {
    await served(answer, (gateway) => rejects(readStatus(connect({ gateway })), { code: "unreachable" }));
  }
});

test("the gateway's error keeps its code, field and numbers, and whether to try again", async () => {
  const error = { message: "No.", type: "t", param: "limit", code: "rate_limited", metadata: { retry_after_s: 3 } };
  const answer: RequestListener = (_, response) =>
    void response.writeHead(429, { "x-should-retry": "true" }).end(JSON.stringify({ error }));
  const { message, code, param, metadata } = error;
  const refused = { name: "RefusedError", message, code, param, metadata, status: 429, isRetryable: true };
  await served(answer, (gateway) => rejects(readStatus(connect({ gateway })), refused));
});

test("without a key or an account, no request is made in their name", async () => {
  const connection = connect({ gateway: "http://127.0.0.1:1" });
  await rejects(readCredits(connection), { code: "no_credential" });
  await rejects(createKey(connection), { code: "no_account" });
});

test("an unknown chain, and a node that is missing, silent or of another chain, have their codes", async () => {
  const mintOn = (gateway: string, options: { chainId?: number; rpcUrl?: string }) => {
    const chains =
      options.rpcUrl === undefined ? {} : { 31337: { transport: http(options.rpcUrl, { retryCount: 0 }) } };
    const client = createClient({ gateway, account, chains });
    return client.mint({ amountToken: 1n, ...(options.chainId === undefined ? {} : { chainId: options.chainId }) });
  };
  const other: RequestListener = (_, response) =>
    void response.setHeader("content-type", "application/json").end('{"jsonrpc":"2.0","id":0,"result":"0x1"}');
  await served(gatewayWith(null), async (gateway) => {
    await rejects(mintOn(gateway, { chainId: 5 }), { code: "unknown_chain" });
    await rejects(mintOn(gateway, {}), { code: "no_node" });
    await rejects(mintOn(gateway, { rpcUrl: "http://127.0.0.1:1" }), { code: "chain_unavailable" });
    await served(other, (rpcUrl) => rejects(mintOn(gateway, { rpcUrl }), { code: "wrong_chain" }));
  });
});
