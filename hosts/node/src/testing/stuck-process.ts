import { startWatchdog } from "../watchdog.ts";

/** A process with a watchdog of 5 ticks of 20 ms. With the argument `stuck` its event loop stands still. */
startWatchdog({ tickMs: 20, ticks: 5 });
if (process.argv[2] === "stuck") for (;;);
