import { log } from "./log.ts";
import { type Relayer, startRelayer } from "./relayer.ts";
import { readSettings } from "./settings.ts";

/** The relayer as a process, told by its environment. Ends with one line and a non-zero code if it cannot run. */
try {
  const settings = readSettings(process.env);
  const relayer = startRelayer(settings, { now: Date.now, log });
  process.stdout.write(`${JSON.stringify({ event: "relaying", chains: settings.chains.map(({ eid }) => eid) })}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(relayer));
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}

function stop(relayer: Relayer): void {
  relayer.stop().then(
    () => process.exit(0),
    (error: unknown) => exitWith(`The relayer did not stop cleanly: ${String(error)}`),
  );
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
