import { CommandError } from "./errors.ts";

type Setup = { format: "toml" | "json" | "yaml"; content: string };

/** The first line of a file that is all of `infer setup`. JSON has no comments: a JSON file may be others' as well. */
const MARK = "# Written by `infer setup`, which replaces all of it.";

/**
 * A tool's file with the setup in it. Other settings of a JSON file stay. Throws `CommandError` for another file that is
 * not of `infer setup`.
 */
export function withSetup(existing: string | undefined, { format, content }: Setup): string {
  if (format === "json") return written(merge(parseObject(existing ?? "{}"), JSON.parse(content)));
  requireOwn(existing ?? MARK);
  return `${MARK}\n${content}\n`;
}

/**
 * The file without the setup; empty: nothing else is in it. A setting of the same name that the user had before comes
 * back. Throws `CommandError`.
 */
export function withoutSetup(existing: string, before: string | undefined, { format, content }: Setup): string {
  if (format === "json") {
    return written(unmerge(parseObject(existing), JSON.parse(content) as Json, parseObject(before ?? "{}")));
  }
  requireOwn(existing);
  return "";
}

/** Whether a file has every setting of the setup: then it is not as the user had it before. */
export function hasSetup(existing: string, { format, content }: Setup): boolean {
  return format === "json" ? covers(parseObject(existing), JSON.parse(content) as Json) : existing.startsWith(MARK);
}

function covers(existing: Json, added: Json): boolean {
  return Object.entries(added).every(([name, value]) => {
    const old = existing[name];
    return isObject(old) && isObject(value) && name !== "gateway" ? covers(old, value) : old !== undefined;
  });
}

function requireOwn(existing: string): void {
  if (existing.startsWith(MARK)) return;
  throw new CommandError("The file is not of `infer setup`: move it, or merge it yourself, from --dry-run.");
}

type Json = Record<string, unknown>;

function written(json: Json): string {
  return Object.keys(json).length === 0 ? "" : `${JSON.stringify(json, null, 2)}\n`;
}

function parseObject(text: string): Json {
  try {
    const value = JSON.parse(text.trim() === "" ? "{}" : text) as unknown;
    if (isObject(value)) return value;
  } catch {}
  throw new CommandError("The file is not a JSON object, perhaps for its comments: merge it yourself, from --dry-run.");
}

function merge(existing: Json, added: Json): Json {
  const merged = { ...existing };
  for (const [name, value] of Object.entries(added)) {
    const old = merged[name];
    merged[name] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return merged;
}

/** The provider `gateway` is removed whole: a model in it may have another name now. */
function unmerge(existing: Json, added: Json, before: Json): Json {
  const left = { ...existing };
  for (const [name, value] of Object.entries(added)) {
    const [now, old] = [left[name], before[name]];
    const isNested = isObject(now) && isObject(value) && name !== "gateway";
    const rest = isNested ? unmerge(now, value, isObject(old) ? old : {}) : old;
    if (rest === undefined || (old === undefined && isObject(rest) && Object.keys(rest).length === 0)) {
      delete left[name];
    } else left[name] = rest;
  }
  return left;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
