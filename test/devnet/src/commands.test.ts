import { deepEqual, fail, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { goToNextDay } from "./day.ts";

/** The commands of `npm run devnet` where no devnet runs. `commands.deep.test.ts` gives them to one. */
test("a chain that is not local is taken to no other day, and nothing is stopped for it", async () => {
  const foreign = { chainId: 8453, timestamp: () => Promise.reject(), goTo: () => Promise.reject() };
  const clock = { now: Date.now, offsetMs: 0, set: () => fail("the clock was set") };
  const processes = { restartTimed: () => Promise.reject(new Error("stopped")) };
  await rejects(goToNextDay({ chains: [foreign], clock, processes }), /Only local chains .* not 8453/);
});

test("a process with an offset has another now, and no other moment", async () => {
  const shifted = fileURLToPath(new URL("shifted-clock.ts", import.meta.url));
  const code =
    "console.log(JSON.stringify([Date.now(), +new Date(), new Date(5).getTime(), new Date() instanceof Date]))";
  const env = { ...process.env, DEVNET_CLOCK_OFFSET_MS: "86400000" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", shifted, "-e", code], { env });
  const [now = 0, made = 0, moment, isDate] = JSON.parse(stdout) as [number, number, number, boolean];
  for (const time of [now, made]) ok(Math.abs(time - Date.now() - 86_400_000) < 60_000);
  deepEqual([moment, isDate], [5, true]);
});
