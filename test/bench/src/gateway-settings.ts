import { startEmptyChain } from "@inference/gateway/test/chaos/empty-chain";
import { CHAIN_ID } from "@inference/gateway/test/fund";
import { ceilingNanoUsd } from "./books.ts";

/** A gateway reads this chain once. The accounts have their credit already. */
const chain = startEmptyChain(ceilingNanoUsd);

/** The settings of every measured gateway, on either host. */
export async function gatewaySettings(upstreamOrigin: string, secret: Buffer): Promise<Record<string, string>> {
  return {
    GATEWAY_SECRET: secret.toString("hex"),
    UPSTREAM_BASE_URL: `${upstreamOrigin}/api/v1`,
    // As long as a real key, because answers are searched for it.
    UPSTREAM_API_KEY: `bench-${"0123456789abcdef".repeat(3)}`,
    PRIMARY_RPC_URL: (await chain).rpcUrl,
    PRIMARY_CHAIN_ID: String(CHAIN_ID),
    SETTLEMENT_ADDRESS: `0x${"00".repeat(19)}01`,
    CHAIN_POLL_MS: "3600000",
    UPSTREAM_PROBE: "off",
    // A few accounts send the requests of many.
    UPSTREAM_FAILURES: "0",
    // Requests are counted and never limited.
    ACCOUNT_REQUESTS_PER_MINUTE: "1000000000",
    ADDRESS_REQUESTS_PER_MINUTE: "1000000000",
  };
}
