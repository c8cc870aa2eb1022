import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parseSettings, SettingsError } from "@inference/gateway/settings";
import { checkKey, checkPrices } from "./check.ts";
import { logWhatIsPrinted } from "./log.ts";
import { rebuildLedger } from "./rebuild.ts";
import { nodeSettings } from "./settings.ts";
import { withSettlerKey } from "./settler-key.ts";
import { startNodeGateway } from "./start.ts";

/**
 * `npm run gateway`: the gateway alone, with settings from the environment. If it cannot run, it ends with an error of
 * one line. With `--check` it checks its settings, the provider's key and the prices, and ends. With `rebuild` it brings
 * the balances to the chain's, and ends.
 */
logWhatIsPrinted();
try {
  const settings = await withSettlerKey(parseSettings(nodeSettings, process.env));
  const { check, isRebuild } = readArguments();
  if (isRebuild) {
    process.stdout.write(`${JSON.stringify({ event: "rebuilt", ...(await rebuildLedger(settings)) })}\n`);
    process.exit(0);
  }
  const pricesFile = settings.PRICES_FILE === undefined ? null : readPrices(settings.PRICES_FILE);
  await checkKey(settings, { pricesFile });
  if (check) {
    await checkPrices(settings, { pricesFile });
    process.stdout.write(`${JSON.stringify({ event: "checked" })}\n`);
    process.exit(0);
  }
  const gateway = await startNodeGateway(settings, { pricesFile });
  process.stdout.write(`${JSON.stringify({ event: "listening", url: gateway.url })}\n`);
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
  exitWith(error instanceof Error ? error.message : String(error));
}

function readArguments(): { check: boolean; isRebuild: boolean } {
  const options = { check: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, ...others] = positionals;
  if (others.length > 0 || (command !== undefined && command !== "rebuild")) {
    throw new SettingsError(`There is no command \`${positionals.join(" ")}\`: only \`rebuild\`.`);
  }
  return { check: values.check, isRebuild: command === "rebuild" };
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
