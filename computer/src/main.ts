import { tell } from "@inference/keeper/log";
import { runProcess } from "@inference/keeper/process";
import { connect } from "@inference/sdk/connection";
import { startSelling } from "./seller.ts";
import { readComputerSettings } from "./settings.ts";

const usage = `Usage: npm run computer

Keeps the offer of an agent's capacity in force at a gateway. computer/README.md describes its variables:

  GATEWAY_URL, AGENT_TOKEN                                       Required.
  COMPUTER_KEY_FILE                                              The computer's key, or one of the next two lines.
  COMPUTER_KEYSTORE, COMPUTER_PASSWORD_FILE, COMPUTER_PASSWORD
  COMPUTER_KEY
  SHARE_PERCENT, POLL_MS                                         Optional.

Options:
  --help     Print this text.
  --version  Print the version.
`;

const CALL_MS = 10_000;

/** `npm run computer`: sells until a signal ends it. */
await runProcess({ name: "computer", usage }, async () => {
  const { gatewayUrl, account: computer, ...terms } = await readComputerSettings(process.env);
  say(`Computer ${computer.address} of agent ${terms.agentToken}, at ${gatewayUrl}.`);
  const connection = connect({
    gateway: gatewayUrl,
    fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(CALL_MS) }),
  });
  return startSelling({ connection, computer, ...terms, say });
});

function say(message: string): void {
  tell("info", "selling", { message });
}
