import { CommandError } from "./errors.ts";

/** Marks the lines of `infer setup` in another program's file. */
const BEGIN = "# infer setup: begin";
const END = "# infer setup: end";

/**
 * A tool's own file with the setup in it. A second run replaces the setup. Throws `CommandError` if the user has set
 * one of the settings.
 */
export function withSetup(
  existing: string | undefined,
  { format, content }: { format: "toml" | "json" | "yaml"; content: string },
): string {
  if (format === "json")
    return `${JSON.stringify(merge(parseObject(existing ?? "{}"), JSON.parse(content)), null, 2)}\n`;
  const rest = withoutBlocks(existing ?? "").trim();
  const [head, tables] = format === "toml" ? splitToml(content) : ["", content];
  const [restHead, restTables] = format === "toml" ? splitToml(rest) : [rest, ""];
  const isTaken = (line: string): boolean => {
    const name = /^([\w.-]+)\s*[=:]/.exec(line)?.[1];
    if (name !== undefined) return new RegExp(`^${name.replaceAll(".", "\\.")}\\s*[=:]`, "m").test(restHead);
    return line.startsWith("[") && restTables.includes(line);
  };
  const ownHead = format === "toml" ? head.split("\n") : content.split("\n");
  const taken = [...ownHead, ...tables.split("\n").filter((line) => line.startsWith("["))].find(isTaken);
  if (taken !== undefined) {
    throw new CommandError(
      `The file has \`${taken.split(/[=:]/)[0]?.trim()}\` already: merge it yourself, from --dry-run.`,
    );
  }
  return `${[block(head), rest, block(tables)].filter((part) => part !== "").join("\n\n")}\n`;
}

/**
 * The file without the setup; empty: nothing else is in it. A setting of the same name that the user had before comes
 * back. Throws `CommandError`.
 */
export function withoutSetup(
  existing: string,
  before: string | undefined,
  { format, content }: { format: "toml" | "json" | "yaml"; content: string },
): string {
  if (format !== "json") {
    const rest = withoutBlocks(existing).trim();
    return rest === "" ? "" : `${rest}\n`;
  }
  const left = unmerge(parseObject(existing), JSON.parse(content) as Json, parseObject(before ?? "{}"));
  return Object.keys(left).length === 0 ? "" : `${JSON.stringify(left, null, 2)}\n`;
}

/** The keys before the first table, and the tables. A key after a table would belong to the table. */
function splitToml(text: string): [string, string] {
  const at = text.search(/^\s*\[/m);
  return at === -1 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at).trim()];
}

function block(text: string): string {
  return text === "" ? "" : [BEGIN, text, END].join("\n");
}

function withoutBlocks(text: string): string {
  return text.replaceAll(new RegExp(`^${BEGIN}\\n[\\s\\S]*?^${END}\\n?`, "gm"), "");
}

type Json = Record<string, unknown>;

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
    const inner =
      isObject(now) && isObject(value) && name !== "gateway" ? unmerge(now, value, isObject(old) ? old : {}) : old;
    if (inner === undefined || (isObject(inner) && Object.keys(inner).length === 0 && old === undefined)) {
      delete left[name];
    } else left[name] = inner;
  }
  return left;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
