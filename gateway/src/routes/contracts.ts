import { createHash } from "node:crypto";
import { abis } from "@inference/protocol/abi/all";
import { fail } from "@inference/protocol/errors";
import type { KnownChain } from "../chain-directory.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";

/** GET /api/v1/contracts, public: the chains, the addresses of the contracts on them, and the contracts' ABIs. */
export function getContracts(context: GatewayContext): Response {
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
}

type Document = { text: string; etag: string };

/** Made once for a gateway: its settings do not change while it runs. */
const made = new WeakMap<Gateway, Document>();

function documentOf(gateway: Gateway): Document {
  let document = made.get(gateway);
  if (document === undefined) {
    const text = JSON.stringify({ data: { chains: gateway.config.chains.map(chainObject), abis } });
    document = { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
    made.set(gateway, document);
  }
  return document;
}

function chainObject({ chainId, role, name, eid, rpcUrl, stablecoin, contracts }: KnownChain) {
  return {
    chain_id: chainId,
    role,
    name,
    layerzero_eid: eid,
    rpc_url: rpcUrl,
    stablecoin: stablecoin === null ? null : { address: contracts.stablecoin ?? null, ...stablecoin },
    contracts,
  };
}

/** Proxies that compress an answer make its tag a weak one. */
function isNamedIn(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
