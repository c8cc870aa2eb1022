import { readFileSync } from "node:fs";
import inspector from "node:inspector";
import { makeReceiptKey } from "@inference/gateway/auth/receipt-key";
import { parseSettings, SettingsError, secretsOf } from "@inference/gateway/settings";
import { readArguments } from "./arguments.ts";
import { backUpLedger } from "./backup.ts";
import { checkProvider } from "./check.ts";
import { startError } from "./database.ts";
import { log, logWhatIsPrinted, tell } from "./log.ts";
import { noteBackup } from "./process-metrics.ts";
import { restorePartition } from "./restore.ts";
import { nodeSettings } from "./settings.ts";
import { readSettingsFile } from "./settings-file.ts";
import { withSettlerKey } from "./settler-key.ts";
import { startNodeGateway } from "./start.ts";
import { startWatchdog } from "./watchdog.ts";

/**
 * `npm run gateway`: the gateway alone, with settings from the environment, and from a file with `--settings`. If it
 * cannot run, it ends with an error of one line. With `--check` it checks its settings, the provider's key, prices and answers, and ends. With `backup <file>` it
 * copies the ledger, with `restore <partition>` it puts a part of the ledger right, and ends. With `receipt-key` it
 * needs GATEWAY_SECRET alone, says the public key of receipts, and ends.
 */
// Its files are for its own user: they have every account's receipts.
process.umask(0o077);
logWhatIsPrinted();
try {
  const given = readArguments(process.argv.slice(2));
  if (typeof given === "string") {
    process.stdout.write(given);
    process.exit(0);
  }
  const { check, command, words } = given;
  if (given.file !== undefined) readSettingsFile(given.file, process.env);
  const [first = "", second] = words;
  if (command === "receipt-key") {
    const only = nodeSettings.pick({ GATEWAY_SECRET: true, GATEWAY_SECRET_PREVIOUS: true });
    const { secret } = secretsOf(parseSettings(only, process.env));
    tell("receipt_key", { receiptKey: makeReceiptKey(secret).publicKey });
    process.exit(0);
  }
  const settings = await withSettlerKey(parseSettings(nodeSettings, process.env));
  if (command === "backup") {
    const made = backUpLedger(settings.DATABASE_FILE, first);
    try {
      noteBackup(settings.DATABASE_FILE, new Date());
    } finally {
      tell("backed_up", made);
    }
    process.exit(0);
  }
  if (command === "restore") {
    tell("restored", await restorePartition(settings, first, second));
    process.exit(0);
  }
  const pricesFile = settings.PRICES_FILE === undefined ? null : readPrices(settings.PRICES_FILE);
  await checkProvider(settings, pricesFile, check ? log : () => {});
  if (check) {
    tell("checked");
    process.exit(0);
  }
  const gateway = await startNodeGateway(settings, { pricesFile });
  // A breakpoint stops the event loop for a long time.
  if (inspector.url() === undefined) startWatchdog();
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
  // Last: whoever waits for this line may stop the process at once.
  tell("listening", { url: gateway.url, provider: settings.UPSTREAM_PROFILE });
} catch (error) {
  exitWith(startError(error));
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
