import { log } from "@inference/keeper/log";
import { announce, runProcess } from "@inference/keeper/process";
import { startRelayer } from "./relayer.ts";
import { readSettings } from "./settings.ts";

/** The relayer as a process, told by its environment. */
await runProcess("relayer", () => {
  const settings = readSettings(process.env);
  const relayer = startRelayer(settings, { now: Date.now, log });
  announce(
    "relaying",
    settings.chains.map(({ eid }) => eid),
  );
  return relayer;
});
