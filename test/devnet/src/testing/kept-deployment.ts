import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

/**
 * The deployment that an earlier test has saved, for tests that look at something else. A devnet begins with it only if
 * it is of the same code and whole, and deploys otherwise.
 */
const kept = join(tmpdir(), `devnet-deployment-${userInfo().uid}`);
const MAX_AGE_MS = 3_600_000;
/** The one that says of which code it is comes last. */
const FILES = ["saved-primary.json", "saved-secondary1.json", "saved-secondary2.json", "saved.json"];

/** Copies the kept deployment into a devnet's folder, if there is one. */
export function beginWithDeployment(folder: string): void {
  if (ageMs() > MAX_AGE_MS) return;
  tryToCopy(kept, folder);
}

/** Keeps the deployment that a devnet has saved in its folder, if there is one. */
export function keepDeployment(folder: string): void {
  if (ageMs() <= MAX_AGE_MS / 2) return;
  const draft = mkdtempSync(`${kept}-`);
  try {
    if (tryToCopy(folder, draft)) {
      rmSync(kept, { recursive: true, force: true });
      renameSync(draft, kept);
    }
  } catch {
    // Another process has kept its own meanwhile.
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function ageMs(): number {
  const file = statSync(join(kept, "saved.json"), { throwIfNoEntry: false });
  return file === undefined ? Number.POSITIVE_INFINITY : Date.now() - file.mtimeMs;
}

function tryToCopy(from: string, to: string): boolean {
  try {
    for (const file of FILES) copyFileSync(join(from, file), join(to, file));
    return true;
  } catch {
    return false;
  }
}
