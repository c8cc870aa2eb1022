import { buildDashboard, withoutDashboard } from "./build.ts";

/** Before a gateway starts, `tools/run.mjs` runs this. A gateway works without the dashboard, so this ends well. */
try {
  await buildDashboard();
} catch (error) {
  const [line] = String(error instanceof Error ? error.message : error).split("\n");
  withoutDashboard();
  process.stderr.write(`The dashboard could not be built, and the gateway starts without it: ${line}\n`);
}
