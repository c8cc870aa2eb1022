import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DevnetError, oneLine } from "./devnet-error.ts";

/** Where a devnet keeps what it needs to continue. One devnet at a time has it. */
export type Folder = {
  readonly path: string;
  file(name: FileName): string;
  has(name: FileName): boolean;
  /** Undefined if there is no such file. Throws {@link DevnetError} if it is not JSON. */
  readJson(name: FileName): unknown;
  /** Readable by its owner alone, and whole or not there at all. */
  writeJson(name: FileName, content: unknown): void;
  remove(...names: FileName[]): void;
  /** Lets another devnet have it. */
  release(): void;
};
export type FileName = (typeof FILES)[number] | (typeof SAVED_FILES)[number];

const FILES = [
  "ready.json",
  "secrets.json",
  "dashboard-wallet.js",
  "deployment.json",
  "clock.json",
  "agents.json",
  "primary.json",
  "secondary1.json",
  "secondary2.json",
  "gateway.sqlite",
  "gateway.sqlite-wal",
  "gateway.sqlite-shm",
  "gateway.sqlite-lock",
  "gateway.sqlite-kv",
  "gateway.sqlite-kv-wal",
  "gateway.sqlite-kv-shm",
  "keeper.json",
  "keeper.sqlite",
  "keeper.sqlite-journal",
  "primary.log",
  "secondary1.log",
  "secondary2.log",
  "provider.log",
  "gateway.log",
  "relayer.log",
  "keeper.log",
  "computer-1.log",
  "computer-2.log",
  "computer-3.log",
  "computer-4.log",
  "computer-5.log",
  "computer-6.log",
  "computer-7.log",
  "computer-8.log",
] as const;

/** The chains as they were right after a deployment: what a fresh start begins with. */
const SAVED_FILES = ["saved.json", "saved-primary.json", "saved-secondary1.json", "saved-secondary2.json"] as const;

/** Takes the folder, making it if need be. Throws {@link DevnetError} if another devnet has it. */
export function openFolder(folder: string): Folder {
  const path = resolve(folder);
  const release = take(path);
  const file = (name: FileName): string => join(path, name);
  return {
    path,
    file,
    has: (name) => existsSync(file(name)),
    readJson(name) {
      let text: string;
      try {
        text = readFileSync(file(name), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
      try {
        return JSON.parse(text);
      } catch {
        throw new DevnetError(`${file(name)} is damaged: begin anew with npm start -- --fresh.`);
      }
    },
    writeJson(name, content) {
      const draft = `${file(name)}.new`;
      rmSync(draft, { force: true });
      writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, file(name));
    },
    remove(...names) {
      for (const name of names) rmSync(file(name), { force: true });
    },
    release,
  };
}

/** Removes what a devnet has done, not the deployment it began with, and nothing else that may be in its folder. */
export function clearFolder(folder: Folder): void {
  folder.remove(...FILES);
  for (const name of FILES) rmSync(`${folder.file(name)}.new`, { force: true });
}

/** One level at a time: where a parent cannot be made (`/proc/x`), Node's recursive way tries forever. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A lock that the system lets go of with the process, however it ends. */
function take(path: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    makeFolder(path);
    lock = new DatabaseSync(join(path, "lock"));
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if (/locked/.test(oneLine(error))) {
      throw new DevnetError(`Another devnet is running in ${path}: stop it, or set DEVNET_DIR to another folder.`);
    }
    throw new DevnetError(`${path} cannot be used (${oneLine(error)}): set DEVNET_DIR to another folder.`);
  }
  return () => {
    if (lock?.isOpen) lock.close();
  };
}
