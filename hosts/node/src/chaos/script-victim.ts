import { writeSync } from "node:fs";
import { openDatabase } from "../database.ts";
import { openNodeLedger } from "../ledger.ts";
import { runScript } from "./script.ts";

/** Runs the script on a file, says aloud each step that it was answered, and dies at one side of its nth commit. */
const [file = "", stage, commit] = process.argv.slice(2);
const clock = { time: 0 };
let commits = 0;
const ledger = openNodeLedger(openDatabase(file), {
  now: () => clock.time,
  epoch: 1,
  onAlert: fail,
  onFatal: fail,
  onCommit(now) {
    if (now === "before") commits += 1;
    if (now === stage && commits === Number(commit)) process.kill(process.pid, "SIGKILL");
  },
});
// Written at once, not when the event loop comes round to it: what is not said by its death was not heard by anybody.
await runScript(ledger, clock, 0, (step) => writeSync(1, `${step}\n`));

function fail(what: unknown): never {
  writeSync(2, String(what));
  process.exit(1);
}
