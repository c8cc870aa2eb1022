/** Runs forge's tests, and fails if a suite had none: a suite that forge does not see would pass. */
import { globSync } from "node:fs";
import { runForgeForOutput } from "./forge.ts";

const folder = new URL("..", import.meta.url);

/** The files of `*.t.sol` that are not in the output of `forge test`. */
export function unseenSuites(output: string, files: readonly string[]): string[] {
  const seen = new Set([...output.matchAll(/^Ran [1-9]\d* tests? for ([^:]+):/gm)].map(([, file]) => file));
  return files.filter((file) => !seen.has(file));
}

if (import.meta.main) {
  const { status, output } = runForgeForOutput(["test", "-vv"]);
  // The profile `fast` leaves gas to the deep run.
  const isFast = process.env.FOUNDRY_PROFILE === "fast";
  const files = globSync("test/**/*.t.sol", { cwd: folder }).filter((file) => !isFast || !/Gas(Limit)?\.t/.test(file));
  const unseen = unseenSuites(output, files);
  if (unseen.length > 0) console.error(`forge found no tests in ${unseen.join(", ")}.`);
  process.exitCode = unseen.length > 0 ? 1 : status;
}
