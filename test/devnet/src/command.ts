import { ownValue } from "@inference/protocol/own-value";
import { ask } from "./ask.ts";
import { oneLine } from "./devnet-error.ts";

/** `npm run devnet -- <command>`: what the devnet that runs is asked to do. Ends with one line and 1 if it fails. */
const HELP = `npm run devnet -- day               takes the chains and the gateway to the next UTC day
npm run devnet -- faucet <address>  gives it gas, dollars and staking tokens on every chain
npm run devnet -- agent             makes an agent that sells its capacity from the next UTC day on

Settings, as environment variables:
  DEVNET_DIR      the folder of the devnet that runs (.devnet)
`;
const COMMANDS: Readonly<Record<string, readonly string[]>> = { day: [], faucet: ["<address>"], agent: [] };

const [command = "", ...args] = process.argv.slice(2);
const wanted = ownValue(COMMANDS, command);
if (command === "" || command === "--help" || command === "-h") process.stdout.write(HELP);
else if (wanted === undefined || wanted.length !== args.length) {
  const usage = wanted === undefined ? `one of ${Object.keys(COMMANDS).join(", ")}` : [command, ...wanted].join(" ");
  fail(`npm run devnet -- takes ${usage}, not ${[command, ...args].join(" ")}.`);
} else {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  await ask(process.env.DEVNET_DIR || ".devnet", { command, args, say }).catch((error) => fail(oneLine(error)));
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
