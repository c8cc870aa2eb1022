import { equal } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { startChild } from "./child.ts";
import { temporaryFolder } from "./testing/launch.ts";

for (const [what, code, says] of [
  ["a log's entry just before", `console.log('{"event":"broke"}'); process.exit(3);`, ': {"event":"broke"}'],
  ["a log's entry long before", `console.log('{"event":"fine"}'); setTimeout(() => process.exit(3), 1_300);`, "."],
  ["a line of its own", `console.log("No disk"); setTimeout(() => process.exit(3), 1_300);`, ": No disk"],
] as const) {
  test(`how a child ended, after ${what}`, { concurrency: true }, async () => {
    const folder = temporaryFolder();
    const script = join(folder.path, "script.mjs");
    writeFileSync(script, code);
    const program = { name: "child", script: pathToFileURL(script) };
    const child = startChild(program, { environment: process.env, logFile: join(folder.path, "child.log") });
    equal((await child.ended).message, `The child ended with code 3${says}`);
    folder.remove();
  });
}
