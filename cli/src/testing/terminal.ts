import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { eventually } from "@inference/protocol/testing/eventually";
import { commandFile } from "./command-file.ts";

/** Why tests at a terminal are skipped; false: they are not. */
export const withoutTerminal = spawnSync("python3", ["--version"]).status === 0 ? false : "no python3 opens a terminal";

/** The command on a pseudo-terminal, which Python's standard library can open and Node's cannot. */
export async function openTty(argv: readonly string[], environment: Readonly<Record<string, string | undefined>>) {
  const infer = [process.execPath, await commandFile(), ...argv];
  const child = spawn("python3", [fileURLToPath(new URL("terminal.py", import.meta.url)), ...infer], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, TERM: "xterm", ...environment },
  });
  let screen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
  });
  const hasEnded = (): boolean => child.exitCode !== null;
  return {
    screen: () => screen,
    /** Waits until the screen matches. */
    async shows(pattern: RegExp): Promise<RegExpExecArray> {
      await eventually(() => pattern.test(screen) || hasEnded()).catch(() => {});
      const found = pattern.exec(screen);
      if (found === null) throw new Error(`The screen never had ${pattern}: ${screen}`);
      return found;
    },
    type: (text: string) => void child.stdin.write(text),
    /** The exit code, and whether the terminal's settings are restored. */
    async ended(): Promise<{ code: number; isRestored: boolean }> {
      const [, code, state] = await this.shows(/\[ended with (-?\d+), terminal (\w+)\]/);
      return { code: Number(code), isRestored: state === "restored" };
    },
    kill: () => void child.kill("SIGKILL"),
  };
}
