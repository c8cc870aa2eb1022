import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Runs wrangler on this tree, as in a clone, and returns what it printed. `home` has its logs. */
export async function runWrangler(
  home: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(join(root, "node_modules/.bin/wrangler"), args, {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: home, CI: "1", WRANGLER_SEND_METRICS: "false", ...environment },
  });
  return stdout;
}
