import { startX402Relay, type X402Relay } from "@inference/gateway/test/x402";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Stack, startStack } from "./stack.ts";

/** A gateway with a relay. */
export type X402Stack = Pick<X402Relay, "asked" | "does" | "execute" | "credit"> & {
  stack: Stack;
  /** For another gateway. */
  relay: X402Relay;
  /** Takes the gateway's clock ahead. */
  pass(ms: number): void;
  stop(): Promise<void>;
};

export async function startX402Stack(): Promise<X402Stack> {
  const relay = await startX402Relay();
  const stack = await startStack({
    relay,
    chain: { following: () => ({ state: "following", block: relay.booked(), lagBlocks: 0 }) },
    now: () => Date.now() + relay.aheadMs,
  });
  relay.put = stack.put;
  return {
    ...relay,
    ...{ stack, relay },
    pass(ms) {
      relay.aheadMs += ms;
    },
    async stop() {
      await stack.stop();
      await relay.stop();
    },
  };
}

/** The official client, which keeps what it sent. */
export function x402Payer() {
  const account = privateKeyToAccount(generatePrivateKey());
  const schemes = [{ network: "eip155:31337" as const, client: new ExactEvmScheme(account) }];
  // The client knows the dollars of real chains by itself.
  const client = x402Client.fromConfig({ schemes, spendControls: { allowedAssets: true } });
  const sent: Request[] = [];
  const keeping: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    sent.push(request.clone());
    return fetch(request);
  };
  return { account, sent, pay: wrapFetchWithPayment(keeping, client) };
}
