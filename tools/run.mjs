#!/usr/bin/env node
// Runs one of the project's TypeScript programs with the pinned Node, installing what is missing first.
// Plain JavaScript without dependencies: on a new machine it runs before anything is installed, on an older Node.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { flagsTakenByNpm } from "./npm-flags.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const modules = join(root, "node_modules");
const [script, ...given] = process.argv.slice(2);
const args = [...given, ...flagsTakenByNpm(script, process.env).filter((flag) => !given.includes(flag))];

/** The programs whose gateways serve the dashboard. */
const servesDashboard = ["test/devnet/src/main.ts", "hosts/node/src/main.ts", "hosts/cloudflare/src/local/main.ts"];

if (!isInstalled()) install();
if (servesDashboard.includes(script)) {
  // It takes half a second, and next to nothing while its files are unchanged.
  const build = join(root, "dashboard/src/build/main.ts");
  spawnSync(pinnedNode(), ["--disable-warning=ExperimentalWarning", build], { stdio: ["ignore", 2, 2] });
}
const child = spawn(pinnedNode(), ["--disable-warning=ExperimentalWarning", join(root, script), ...args], {
  stdio: "inherit",
  env: { ...process.env, PATH: `${join(modules, ".bin")}${delimiter}${process.env.PATH}` },
});
// From a terminal Ctrl-C reaches the child directly, and through us once more: programs take it as one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
stopWithNpm();

/** Whether what npm has installed is what the lock file says, whoever installed it. Optional packages may be missing. */
function isInstalled() {
  const wanted = readPackages(join(root, "package-lock.json"));
  const present = readPackages(join(modules, ".package-lock.json"));
  if (wanted === undefined || present === undefined) return false;
  return Object.entries(wanted).every(([path, { version, integrity, link, optional }]) => {
    if (!path.startsWith("node_modules/")) return true;
    const found = present[path];
    if (found === undefined) return optional === true;
    return link === true ? existsSync(join(root, path)) : found.version === version && found.integrity === integrity;
  });
}

function readPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : undefined;
}

function install() {
  console.error("Installing dependencies (once, about half a minute) ...");
  const flags = ["--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const result = spawnSync("npm", ["ci", ...flags], { cwd: root, stdio: ["ignore", 2, 2] });
  if (result.status === 0) return;
  const reason = result.error === undefined ? "see its message above" : result.error.message;
  console.error(`npm ci failed (${reason}); then run the same command again.`);
  process.exit(1);
}

/** The Node that package.json pins, or the running one where it is as new (a machine without a prebuilt pinned one). */
function pinnedNode() {
  const pinned = join(modules, "node", "bin", "node");
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  console.error(`Node 24 or newer is needed and the pinned one did not install (this is ${process.version}).`);
  process.exit(1);
}

/** An npm that was killed cannot tell us to stop: what it started would stay. */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, 1_000);
  timer.unref();
}
