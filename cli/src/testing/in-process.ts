import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExitCode } from "../command.ts";
import { commands } from "../commands/all.ts";
import { type Outside, run } from "../run.ts";
import { openStateFolder } from "../state-folder.ts";

export type Ran = { code: ExitCode; stdout: string; stderr: string };

/** Thrown to simulate the death of a process: no code of the command runs after it. */
class Died extends Error {}

/** The command line in this process, with its own state folder and home. */
export function makeTerminal(environment: Readonly<Record<string, string>> = {}, outside: Partial<Outside> = {}) {
  const home = mkdtempSync(join(tmpdir(), "infer-"));
  const variables: Record<string, string> = { HOME: home, XDG_STATE_HOME: join(home, "state"), ...environment };
  async function runUntil(at: RegExp | "output" | undefined, argv: readonly string[]): Promise<Ran> {
    let [stdout, stderr] = ["", ""];
    try {
      const code = await run(argv, commands, {
        environment: variables,
        folder: openStateFolder(variables),
        workingFolder: home,
        isInteractive: false,
        say: (line) => {
          stderr += `${line}\n`;
          if (at instanceof RegExp && at.test(stderr)) throw new Died();
        },
        print: (text) => {
          stdout += text;
          if (at === "output") throw new Died();
        },
        ask: () => Promise.reject(new Error("nobody is asked")),
        readInput: async () => "",
        untilStopped: (act) => act(new AbortController().signal),
        ...{ stdout: { isColored: false }, stderr: { isColored: false } },
        openPage: () => {},
        ...outside,
      });
      return { code, stdout, stderr };
    } catch (error) {
      if (error instanceof Died) return { code: 1, stdout, stderr };
      throw error;
    }
  }

  return {
    home,
    variables,
    infer: (...argv: string[]): Promise<Ran> => runUntil(undefined, argv),
    /**
     * Runs a command as if the process died after a line, or after the output and before the stored files are removed.
     */
    async dies(at: RegExp | "output", ...argv: string[]): Promise<Ran> {
      const ran = await runUntil(at, argv);
      if (at === "output" ? ran.stdout === "" : !at.test(ran.stderr)) {
        throw new Error(`It did not come to ${at}: ${ran.stderr}`);
      }
      return ran;
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
