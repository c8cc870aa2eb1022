import { readFileSync } from "node:fs";
import inspector from "node:inspector";
import { parseArgs } from "node:util";
import { makeReceiptKey } from "@inference/gateway/auth/receipt-key";
import { parseSettings, SettingsError, secretOf } from "@inference/gateway/settings";
import { backUpLedger } from "./backup.ts";
import { checkKey, checkProvider } from "./check.ts";
import { startError } from "./database.ts";
import { log, logWhatIsPrinted, tell } from "./log.ts";
import { restorePartition } from "./restore.ts";
import { nodeSettings } from "./settings.ts";
import { withSettlerKey } from "./settler-key.ts";
import { startNodeGateway } from "./start.ts";
import { startWatchdog } from "./watchdog.ts";

/** The commands, with the least and the most words that follow them. */
const wordCounts = { backup: [1, 1], restore: [1, 2], "receipt-key": [0, 0] } as const;

/**
 * `npm run gateway`: the gateway alone, with settings from the environment. If it cannot run, it ends with an error of
 * one line. With `--check` it checks its settings, the provider's key, prices and answers, and ends. With `backup <file>` it
 * copies the ledger, with `restore <partition>` it puts a part of the ledger right, and ends. With `receipt-key` it
 * needs GATEWAY_SECRET alone, says the public key of receipts, and ends.
 */
// Its files are for its own user: they have every account's receipts.
process.umask(0o077);
logWhatIsPrinted();
try {
  const { check, command, words } = readArguments();
  const [first = "", second] = words;
  if (command === "receipt-key") {
    const secret = secretOf(parseSettings(nodeSettings.pick({ GATEWAY_SECRET: true }), process.env));
    tell("receipt_key", { receiptKey: makeReceiptKey(secret).publicKey });
    process.exit(0);
  }
  const settings = await withSettlerKey(parseSettings(nodeSettings, process.env));
  if (command === "backup") {
    tell("backed_up", backUpLedger(settings.DATABASE_FILE, first));
    process.exit(0);
  }
  if (command === "restore") {
    tell("restored", await restorePartition(settings, first, second));
    process.exit(0);
  }
  const pricesFile = settings.PRICES_FILE === undefined ? null : readPrices(settings.PRICES_FILE);
  await checkKey(settings, { pricesFile });
  await checkProvider(settings, { pricesFile }, check ? log : () => {});
  if (check) {
    tell("checked");
    process.exit(0);
  }
  const gateway = await startNodeGateway(settings, { pricesFile });
  // A breakpoint stops the event loop for a long time.
  if (inspector.url() === undefined) startWatchdog();
  tell("listening", { url: gateway.url, provider: settings.UPSTREAM_PROFILE });
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    gateway.stop().then(
      () => process.exit(0),
      (error: unknown) => exitWith(`The gateway did not stop cleanly: ${String(error)}`),
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
} catch (error) {
  exitWith(startError(error));
}

type Arguments = { check: boolean; command?: keyof typeof wordCounts; words: string[] };

function readArguments(): Arguments {
  const options = { check: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { check } = values;
  const [name, ...words] = positionals;
  if (name === undefined) return { check, words };
  if (isCommand(name)) {
    const [least, most] = wordCounts[name];
    if (words.length >= least && words.length <= most) return { check, command: name, words };
  }
  throw new SettingsError(
    `There is no command \`${positionals.join(" ")}\`: only \`backup <file>\`, \`restore <partition> [<backup>]\` and ` +
      "`receipt-key`.",
  );
}

function isCommand(name: string): name is keyof typeof wordCounts {
  return Object.hasOwn(wordCounts, name);
}

function readPrices(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError(`PRICES_FILE: ${file} cannot be read: ${String(error)}`);
  }
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
