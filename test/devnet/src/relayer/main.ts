import { log } from "./log.ts";
import { announce, runProcess } from "./process.ts";
import { startRelayer } from "./relayer.ts";
import { readSettings } from "./settings.ts";

/** The relayer as a process, told by its environment. */
runProcess("relayer", () => {
  const settings = readSettings(process.env);
  const relayer = startRelayer(settings, { now: Date.now, log });
  announce(
    "relaying",
    settings.chains.map(({ eid }) => eid),
  );
  return relayer;
});
