#!/usr/bin/env node
// Runs one of the project's TypeScript programs with the pinned Node, installing what is missing first.
// Plain JavaScript without dependencies: on a new machine it runs before anything is installed, on an older Node.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules", ".lock-digest");
const [script, ...args] = process.argv.slice(2);

installIfMissing();
const node = pinnedNode();
const child = spawn(node, ["--disable-warning=ExperimentalWarning", join(root, script), ...args], {
  stdio: "inherit",
  env: { ...process.env, PATH: `${join(root, "node_modules", ".bin")}:${process.env.PATH}` },
});
// The child shares the terminal's process group: Ctrl-C reaches it directly, and a signal sent to us alone is passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));

function installIfMissing() {
  const digest = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("Installing dependencies (once) ...");
  const result = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (result.status !== 0) {
    console.error("npm ci failed: see its message above; then run the same command again.");
    process.exit(1);
  }
  writeFileSync(stamp, digest);
}

/** The Node that package.json pins, or the running one where it is as new (a machine without a prebuilt pinned one). */
function pinnedNode() {
  const pinned = join(root, "node_modules", "node", "bin", "node");
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  console.error(`Node 24 or newer is needed and the pinned one did not install (this is ${process.version}).`);
  process.exit(1);
}
