import { parseSettings } from "@inference/gateway/settings";
import { nodeSettings } from "../settings.ts";
import { startNodeGateway } from "../start.ts";

/**
 * The gateway as `main.ts` runs it, to be killed: with shorter waits, and, when told so by its parent, dying of its own
 * hand right before or right after the nth commit from then on.
 */
export type CrashPoint = { stage: "before" | "after"; commit: number };

let crash: CrashPoint | undefined;
let commits = 0;
let isCommitting = false;
const IDLE_TURNS = 100;

process.on("message", async (point: CrashPoint) => {
  await commitsOver();
  crash = point;
  commits = 0;
  process.send?.("armed");
});

/** Until earlier commits and those that follow from them are over: none ran in so many turns of the event loop. */
async function commitsOver(): Promise<void> {
  for (let idle = 0; idle < IDLE_TURNS; idle += 1) {
    if (isCommitting) idle = 0;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const gateway = await startNodeGateway(parseSettings(nodeSettings, process.env), {
  pricesFile: null,
  jobs: { sweepMs: 200, orphanGraceMs: 800 },
  onCommit(stage) {
    isCommitting = stage === "before";
    if (isCommitting) commits += 1;
    if (crash?.stage === stage && crash.commit === commits) process.kill(process.pid, "SIGKILL");
  },
});
process.on("SIGTERM", () => {
  void gateway.stop().then(() => process.exit(0));
});
process.stdout.write(`${JSON.stringify({ event: "listening", url: gateway.url })}\n`);
