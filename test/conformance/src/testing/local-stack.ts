import { type App, makeApp } from "@inference/gateway/app";
import { limits } from "@inference/gateway/config";
import { activate } from "@inference/gateway/test/fund";
import { startStack } from "@inference/host-node/testing/stack";
import type { Address, Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

/**
 * The Node host with the provider simulator, and eight wallets with credit. There is no chain: credits are written to the
 * ledger, and one agent token has an owner.
 */
export type LocalStack = {
  url: string;
  wallets: Hex[];
  agentToken: Address;
  /** The gateway behind the URL, to be asked without a connection. */
  app: App;
  /** Ends it, and tells what there was to alert an operator to. */
  stop(): Promise<string[]>;
};

const CREDIT_NANO_USD = 10_000_000_000_000;
const WALLETS = 8;
const agentToken = "0x00000000000000000000000000000000000a9e47";

export async function startLocalStack(): Promise<LocalStack> {
  const wallets = Array.from(
    { length: WALLETS },
    (_, index) => `0x${(index + 1).toString(16).padStart(64, "0")}` as const,
  );
  const addresses = wallets.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address);
  let app: App | undefined;
  const stack = await startStack({
    ceilingNanoUsd: 1_000_000_000_000_000,
    chain: { agentOwner: async (token) => (token.toLowerCase() === agentToken ? (addresses[0] ?? null) : null) },
    makeApp(gateway) {
      app = makeApp(gateway);
      return app;
    },
  });
  if (app === undefined) throw new Error("The stack made no app.");
  // The provider neither locks keys out after bad requests nor records millions of requests.
  await fetch(`${stack.simulator.controlUrl}/config`, {
    method: "POST",
    body: JSON.stringify({ errorBudget: null, record: "off" }),
  });
  for (const address of addresses) {
    await activate(stack.put, address, CREDIT_NANO_USD);
  }
  // A long run needs this one job of the host, because old prices are refused.
  const refreshing = setInterval(() => void stack.gateway.prices.refresh(), limits.catalogueRefreshMs).unref();
  return {
    url: stack.url,
    wallets,
    agentToken,
    app,
    async stop() {
      clearInterval(refreshing);
      await stack.stop();
      // No client can cause an alert.
      const alerts = stack.logged.filter(({ level }) => level === "alert");
      return alerts.map(({ event, fields }) => `alert: ${event} ${JSON.stringify(fields)}`);
    },
  };
}
