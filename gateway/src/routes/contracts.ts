import { createHash } from "node:crypto";
import { abis } from "@inference/protocol/abi/all";
import { fail } from "@inference/protocol/errors";
import { contractsAnswer } from "@inference/protocol/wire/answers";
import type { KnownChain } from "../chain-directory.ts";
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { endpoint } from "./endpoint.ts";

export const getContracts = endpoint({
  path: "/api/v1/contracts",
  id: "getContracts",
  group: "Operation",
  title: "The chains, the addresses of the contracts on them, and their ABIs",
  about:
    "What a wallet needs to mint and activate. It changes only when the operator changes it: keep the `etag`, and " +
    "`if-none-match` answers 304 while it is the same. While the chain contradicts the gateway's settings or books " +
    "this is 503 `chain_unavailable`: send no money then.",
  headers: { "If-None-Match": "The `etag` of an earlier answer." },
  answers: [
    ok("The chains and ABIs.", json("ContractsAnswer", contractsAnswer)),
    { status: 304, about: "The earlier answer still holds.", content: {} },
  ],
  errors: ["chain_unavailable"],
  handle(context) {
    const gateway = context.get("gateway");
    if (gateway.environment.chain.following().state === "halted") {
      fail(
        "chain_unavailable",
        "The chain contradicts the gateway's settings or books. Send no money until the operator has resolved this.",
        { retry: false },
      );
    }
    const { text, etag } = documentOf(gateway);
    const headers = { "cache-control": "public, max-age=60", etag };
    if (isNamedIn(context.req.header("if-none-match"), etag)) return context.body(null, 304, headers);
    return context.body(text, 200, { ...headers, "content-type": "application/json" });
  },
});

type Document = { text: string; etag: string };

/** Made once for a gateway, because its settings do not change. */
const made = new WeakMap<Gateway, Document>();

function documentOf(gateway: Gateway): Document {
  let document = made.get(gateway);
  if (document === undefined) {
    const text = JSON.stringify({
      data: { chains: gateway.config.chains.map(chainObject), receipt_key: gateway.receiptKey.publicKey, abis },
    });
    document = { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
    made.set(gateway, document);
  }
  return document;
}

function chainObject({ chainId, role, name, eid, rpcUrl, stablecoin, startBlock, contracts }: KnownChain) {
  return {
    chain_id: chainId,
    role,
    name,
    layerzero_eid: eid,
    rpc_url: rpcUrl,
    stablecoin: stablecoin === null ? null : { address: contracts.stablecoin ?? null, ...stablecoin },
    start_block: startBlock,
    contracts,
  };
}

/** Compares weakly: proxies that compress an answer make its etag weak. */
function isNamedIn(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
