/** Runs forge with the given arguments. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FORGE_VERSION = "1.7.1";
const contractsFolder = fileURLToPath(new URL("..", import.meta.url));

/** Runs forge in the contracts' folder with inherited output, and returns its exit status. */
export function runForge(args: readonly string[]): number {
  return statusOf(spawnSync(foundryPath("forge"), args, { cwd: contractsFolder, stdio: "inherit" }));
}

/** The same, with its output. */
export function runForgeForOutput(args: readonly string[]): { status: number; output: string } {
  const stdio = ["inherit", "pipe", "inherit"] as const;
  const result = spawnSync(foundryPath("forge"), args, {
    cwd: contractsFolder,
    stdio: [...stdio],
    encoding: "utf8",
    maxBuffer,
  });
  process.stdout.write(result.stdout ?? "");
  return { status: statusOf(result), output: result.stdout ?? "" };
}

const maxBuffer = 64 * 1024 * 1024;

function statusOf(result: { status: number | null; error?: Error }): number {
  if (result.error !== undefined) {
    console.error(
      `forge did not start (${result.error.message}). The npm package of this platform is not installed: ` +
        `put Foundry ${FORGE_VERSION} on the PATH (https://getfoundry.sh).`,
    );
    return 1;
  }
  return result.status ?? 1;
}

/** The pinned program, or the one on the PATH where npm has none for the platform. */
export function foundryPath(program: "forge" | "anvil"): string {
  try {
    const manifest = import.meta.resolve(`@foundry-rs/${program}-linux-amd64/package.json`);
    const path = fileURLToPath(new URL(`bin/${program}`, manifest));
    return existsSync(path) ? path : program;
  } catch {
    return program;
  }
}

if (import.meta.main) process.exitCode = runForge(process.argv.slice(2));
