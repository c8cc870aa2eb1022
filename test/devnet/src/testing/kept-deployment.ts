import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LOCAL_CHAIN_IDS } from "@inference/contracts/deploy";
import { deploymentKey } from "../saved.ts";

/** Deployments of today, by the code that made them: the state of older chains would have another age in each run. */
const cache = fileURLToPath(new URL("../../../../node_modules/.cache/devnet", import.meta.url));
const today = new Date().toISOString().slice(0, 10);
const name = `${today}-${deploymentKey(LOCAL_CHAIN_IDS)}`;
const FILES = ["saved-primary.json", "saved-secondary1.json", "saved-secondary2.json", "saved.json"];

/** Copies the kept deployment into a devnet's folder, if there is one. */
export function beginWithDeployment(folder: string): void {
  if (existsSync(join(cache, name))) copyAll(join(cache, name), folder);
}

/** Keeps the deployment that a devnet has saved in its folder, in place of those of other code or days. */
export function keepDeployment(folder: string): void {
  if (existsSync(join(cache, name)) || !existsSync(join(folder, "saved.json"))) return;
  mkdirSync(cache, { recursive: true });
  for (const other of readdirSync(cache)) rmSync(join(cache, other), { recursive: true, force: true });
  const draft = mkdtempSync(`${cache}-`);
  copyAll(folder, draft);
  try {
    renameSync(draft, join(cache, name));
  } catch {
    // Another process has kept its own meanwhile.
    rmSync(draft, { recursive: true });
  }
}

function copyAll(from: string, to: string): void {
  for (const file of FILES) copyFileSync(join(from, file), join(to, file));
}
