import { tell } from "@inference/keeper/log";
import { runProcess } from "@inference/keeper/process";
import { ComputerError } from "./computer-error.ts";
import { connectGateway } from "./gateway.ts";
import { requireComputer } from "./registry.ts";
import { startSelling } from "./seller.ts";
import { readComputerSettings } from "./settings.ts";

const usage = `Usage: npm run computer

Keeps the offer of an agent's capacity in force at a gateway. computer/README.md describes its variables:

  GATEWAY_URL, AGENT_TOKEN                                       Required.
  COMPUTER_KEY_FILE                                              The computer's key, or one of the next two lines.
  COMPUTER_KEYSTORE, COMPUTER_PASSWORD_FILE, COMPUTER_PASSWORD
  COMPUTER_KEY
  SHARE_PERCENT, PRIMARY_RPC_URL, POLL_MS                        Optional.

Options:
  --help     Print this text.
  --version  Print the version.
`;

/** `npm run computer`: sells until a signal ends it. */
await runProcess({ name: "computer", usage }, async () => {
  const settings = await readComputerSettings(process.env);
  const { agentToken, account, shareBps, pollMs } = settings;
  const gateway = connectGateway(settings.gatewayUrl, { agentToken, account });
  const primary = await gateway.primary();
  const rpcUrl = settings.rpcUrl ?? primary.rpcUrl;
  if (rpcUrl === "") throw new ComputerError("The gateway names no node of the primary chain: set PRIMARY_RPC_URL.");
  const { settlement, registry } = primary;
  const claim = { rpcUrl, chainId: settlement.chainId, registry, agentToken, computer: account.address };
  await requireComputer(claim);
  say(`Computer ${account.address} of agent ${agentToken}, at ${settings.gatewayUrl}.`);
  const explain = (): Promise<void> => requireComputer(claim);
  return startSelling({ gateway, settlement, agentToken, shareBps, pollMs, say, explain });
});

function say(message: string): void {
  tell("info", "selling", { message });
}
