import {
  appendFileSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type * as z from "zod";
import { CommandError } from "./errors.ts";

/**
 * The files that the command keeps between runs: the login, and unfinished transactions. Readable by their owner only.
 */
export type StateFolder = {
  readonly path: string;
  /** Undefined if there is no such file. */
  readJson(name: string): unknown;
  /** Durable when it returns, and whole or absent after a crash. Throws `CommandError`. */
  writeJson(name: string, content: unknown): void;
  /** Writes the file unless it exists. False: it exists. Throws `CommandError`. */
  create(name: string, content: unknown): boolean;
  /** Appends a line. A file of more than `maxBytes` is renamed to the previous one. Throws `CommandError`. */
  append(name: string, line: string, maxBytes: number): void;
  /** The texts of the previous and of the present file of `append`. */
  read(name: string): string[];
  /** The names of the files in a subfolder. */
  list(folder: string): string[];
  remove(name: string): void;
};

/** `$XDG_STATE_HOME/infer`, or `~/.local/state/infer`. Created at the first write. */
export function openStateFolder(environment: Readonly<Record<string, string | undefined>>): StateFolder {
  const home = environment.XDG_STATE_HOME ?? "";
  const path = join(isAbsolute(home) ? home : join(environment.HOME ?? homedir(), ".local", "state"), "infer");
  return {
    path,
    readJson(name) {
      const file = join(path, name);
      const text = textOf(file);
      if (text === undefined) return undefined;
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new CommandError(`${file} is damaged: look at it, and remove it if it is of no use.`);
      }
    },
    writeJson: (name, content) =>
      written(join(path, name), (file) => {
        const draft = `${file}.${process.pid}.new`;
        rmSync(draft, { force: true });
        writeDurably(draft, `${JSON.stringify(content, null, 2)}\n`);
        renameSync(draft, file);
        syncFolder(dirname(file));
      }),
    create(name, content) {
      return written(join(path, name), (file) => {
        try {
          writeDurably(file, `${JSON.stringify(content)}\n`);
          return true;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
          throw error;
        }
      });
    },
    append: (name, line, maxBytes) =>
      written(join(path, name), (file) => {
        if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > maxBytes) renameSync(file, `${file}.before`);
        appendFileSync(file, `${line}\n`, { mode: 0o600 });
      }),
    read: (name) => [`${name}.before`, name].flatMap((each) => textOf(join(path, each)) ?? []),
    list(folder) {
      try {
        return readdirSync(join(path, folder)).filter((name) => name.endsWith(".json"));
      } catch {
        return [];
      }
    },
    remove: (name) => rmSync(join(path, name), { force: true }),
  };
}

/** Writes a file in a folder that exists then. Throws `CommandError`. */
function written<T>(file: string, write: (file: string) => T): T {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return write(file);
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** What is kept in a subfolder of unfinished payments. Throws `CommandError` for files of another version. */
export function readKept<T extends z.ZodType>(folder: StateFolder, name: string, schema: T): z.infer<T>[] {
  return folder.list(name).map((file) => {
    const read = schema.safeParse(folder.readJson(`${name}/${file}`));
    if (read.success) return read.data;
    throw new CommandError(`${folder.path}/${name}/${file} is of another version: its payment may be under way.`);
  });
}

/** Undefined if there is no such file. */
export function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

function writeDurably(file: string, text: string): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the file's name survive a power failure. Not every system can open a folder. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {}
}
