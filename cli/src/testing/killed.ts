import { spawn } from "node:child_process";
import { commandFile } from "./command-file.ts";

/** Runs the command in a process and kills it with SIGKILL after a line. False: it ended before. */
export async function runAndKill(
  argv: readonly string[],
  { at, environment }: { at: RegExp; environment: Readonly<Record<string, string | undefined>> },
): Promise<{ wasKilled: boolean; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [await commandFile(), ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (at.test(stderr)) child.kill("SIGKILL");
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (_, signal) => resolve({ wasKilled: signal === "SIGKILL", stdout, stderr }));
  });
}
