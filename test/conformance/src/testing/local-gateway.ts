import { startLocalStack } from "./local-stack.ts";

/** Prints where the gateway under test is, and stops when its input ends: with 1 if there was anything to alert to. */
const { url, wallets, agentToken, stop } = await startLocalStack();
process.stdout.write(`${JSON.stringify({ url, wallets, agentToken })}\n`);

process.stdin.resume();
process.stdin.on("end", async () => {
  const alerts = await stop();
  for (const alert of alerts.slice(0, 20)) console.error(alert);
  process.exit(alerts.length === 0 ? 0 : 1);
});
