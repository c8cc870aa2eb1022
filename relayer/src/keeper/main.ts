import { log } from "../log.ts";
import { type Keeper, startKeeper } from "./keeper.ts";
import { readKeeperSettings } from "./settings.ts";

/** The keeper as a process, told by its environment. Ends with one line and a non-zero code if it cannot run. */
try {
  const settings = readKeeperSettings(process.env);
  const keeper = startKeeper(settings, { now: Date.now, log });
  process.stdout.write(`${JSON.stringify({ event: "keeping", chains: settings.chains.map(({ name }) => name) })}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(keeper));
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}

function stop(keeper: Keeper): void {
  keeper.stop().then(
    () => process.exit(0),
    (error: unknown) => exitWith(`The keeper did not stop cleanly: ${String(error)}`),
  );
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
