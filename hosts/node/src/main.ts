import { readFileSync } from "node:fs";
import inspector from "node:inspector";
import { parseArgs } from "node:util";
import { makeReceiptKey } from "@inference/gateway/auth/receipt-key";
import { parseSettings, SettingsError, secretOf } from "@inference/gateway/settings";
import { backUpLedger } from "./backup.ts";
import { checkKey, checkPrices } from "./check.ts";
import { startError } from "./database.ts";
import { logWhatIsPrinted, tell } from "./log.ts";
import { nodeSettings } from "./settings.ts";
import { withSettlerKey } from "./settler-key.ts";
import { startNodeGateway } from "./start.ts";
import { startWatchdog } from "./watchdog.ts";

/**
 * `npm run gateway`: the gateway alone, with settings from the environment. If it cannot run, it ends with an error of
 * one line. With `--check` it checks its settings, the provider's key and the prices, and ends. With `backup <file>` it
 * copies the ledger, and ends. With `receipt-key` it needs GATEWAY_SECRET alone, says the public key of receipts, and ends.
 */
// Its files are for its own user: they have every account's receipts.
process.umask(0o077);
logWhatIsPrinted();
try {
  const { check, command, file } = readArguments();
  if (command === "receipt-key") {
    const secret = secretOf(parseSettings(nodeSettings.pick({ GATEWAY_SECRET: true }), process.env));
    tell("receipt_key", { receiptKey: makeReceiptKey(secret).publicKey });
    process.exit(0);
  }
  const settings = await withSettlerKey(parseSettings(nodeSettings, process.env));
  if (command === "backup") {
    tell("backed_up", backUpLedger(settings.DATABASE_FILE, file));
    process.exit(0);
  }
  const pricesFile = settings.PRICES_FILE === undefined ? null : readPrices(settings.PRICES_FILE);
  await checkKey(settings, { pricesFile });
  if (check) {
    await checkPrices(settings, { pricesFile });
    tell("checked");
    process.exit(0);
  }
  const gateway = await startNodeGateway(settings, { pricesFile });
  // A breakpoint stops the event loop for as long as somebody looks.
  if (inspector.url() === undefined) startWatchdog();
  tell("listening", { url: gateway.url });
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

type Arguments = { check: boolean; command?: "backup" | "receipt-key"; file: string };

function readArguments(): Arguments {
  const options = { check: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const { check } = values;
  const [command, file = "", ...others] = positionals;
  if (command === undefined) return { check, file };
  if (command === "backup" && file !== "" && others.length === 0) return { check, command, file };
  if (command === "receipt-key" && positionals.length === 1) return { check, command, file };
  throw new SettingsError(
    `There is no command \`${positionals.join(" ")}\`: only \`backup <file>\` and \`receipt-key\`.`,
  );
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
