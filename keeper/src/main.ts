import { startKeeper } from "./keeper.ts";
import { log } from "./log.ts";
import { runProcess } from "./process.ts";
import { readKeeperSettings } from "./settings.ts";

/** The keeper as a process, with settings from its environment. */
process.umask(0o077);
await runProcess("keeper", () => {
  const settings = readKeeperSettings(process.env);
  const keeper = startKeeper(settings, { now: Date.now, log });
  const chains = settings.chains.map(({ name }) => name);
  process.stdout.write(`${JSON.stringify({ event: "keeping", chains })}\n`);
  return keeper;
});
