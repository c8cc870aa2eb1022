import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExitCode } from "../command.ts";
import { commands } from "../commands/all.ts";
import { type Outside, run } from "../run.ts";
import { openStateFolder } from "../state-folder.ts";

export type Ran = { code: ExitCode; stdout: string; stderr: string };

/** The command line of one person: each run is in this process, with a state folder and a home of its own. */
export function makeTerminal(environment: Readonly<Record<string, string>> = {}, outside: Partial<Outside> = {}) {
  const home = mkdtempSync(join(tmpdir(), "infer-"));
  const variables: Record<string, string> = { HOME: home, XDG_STATE_HOME: join(home, "state"), ...environment };
  return {
    home,
    variables,
    async infer(...argv: string[]): Promise<Ran> {
      let [stdout, stderr] = ["", ""];
      const code = await run(argv, commands, {
        environment: variables,
        folder: openStateFolder(variables),
        workingFolder: home,
        isInteractive: false,
        say: (line) => {
          stderr += `${line}\n`;
        },
        print: (text) => {
          stdout += text;
        },
        ask: () => Promise.reject(new Error("nobody is asked")),
        readInput: async () => "",
        openPage: () => {},
        ...outside,
      });
      return { code, stdout, stderr };
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
