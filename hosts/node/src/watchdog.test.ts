import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeStandstill } from "./watchdog.ts";

test("only ticks in a row without a heartbeat count", () => {
  const hasStoodStill = makeStandstill(3);
  const seen = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2].map(hasStoodStill);
  assert.deepEqual(seen, [...Array<boolean>(9).fill(false), true]);
});

test("a machine that was suspended between two ticks counts as one tick, however long that was", () => {
  const hasStoodStill = makeStandstill(2);
  assert.deepEqual([7, 7, 8, 8].map(hasStoodStill), [false, false, false, false]);
});

function run(how: string) {
  const script = fileURLToPath(new URL("./testing/stuck-process.ts", import.meta.url));
  return spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", script, how], { encoding: "utf8" });
}

test("a process whose event loop stands still ends with a log line", () => {
  const { signal, stderr } = run("stuck");
  assert.equal(signal, "SIGKILL");
  const { at, ...line } = JSON.parse(stderr) as Record<string, unknown>;
  assert.match(String(at), /^\d{4}-.+Z$/);
  assert.deepEqual(line, { level: "alert", event: "event_loop_stuck", ms: 100 });
});

test("a watchdog keeps no process open", () => {
  const { status, signal, stderr } = run("free");
  assert.deepEqual([status, signal, stderr], [0, null, ""]);
});
