import { limits } from "@inference/gateway/config";
import { startStack } from "@inference/host-node/testing/stack";
import { accountPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "viem";
import { privateKeyToAccount } from "viem/accounts";

/**
 * The Node host with the provider simulator behind it, and eight wallets with credit. Prints where it is, and stops
 * when its input ends: with 1 if there was anything to alert an operator to. In place of a chain: the credits are
 * written down, and one agent token has an owner.
 */
const CREDIT_NANO_USD = 10_000_000_000_000;
const WALLETS = 8;
const agentToken = "0x00000000000000000000000000000000000a9e47";

const wallets = Array.from(
  { length: WALLETS },
  (_, index) => `0x${(index + 1).toString(16).padStart(64, "0")}` as const,
);
const addresses = wallets.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address);
const stack = await startStack({
  ceilingNanoUsd: 1_000_000_000_000_000,
  chain: { agentOwner: async (token) => (token.toLowerCase() === agentToken ? (addresses[0] ?? null) : null) },
});
// A provider that locks a key out after bad requests, or that remembers millions, is not what is looked at here.
await fetch(`${stack.simulator.controlUrl}/config`, {
  method: "POST",
  body: JSON.stringify({ errorBudget: null, record: "off" }),
});
for (const address of addresses) {
  await stack.ledger.run(() =>
    send(accountPartition(address), {
      type: "credit",
      id: `conformance:${address}`,
      at: Date.now(),
      amountNanoUsd: CREDIT_NANO_USD,
      detail: "{}",
    }),
  );
}
// Of the host's jobs the one that a long run cannot do without: prices are refused when they are old.
setInterval(() => void stack.gateway.prices.refresh(), limits.catalogueRefreshMs).unref();
process.stdout.write(`${JSON.stringify({ url: stack.url, wallets, agentToken })}\n`);

process.stdin.resume();
process.stdin.on("end", async () => {
  await stack.stop();
  // Whatever clients do, nobody who runs the gateway is called at night.
  const alerts = stack.logged.filter(({ level }) => level === "alert");
  for (const { event, fields } of alerts.slice(0, 20)) console.error(`alert: ${event} ${JSON.stringify(fields)}`);
  process.exit(alerts.length === 0 ? 0 : 1);
});
