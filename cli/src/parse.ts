import { parseArgs } from "node:util";
import { ownValue } from "@inference/protocol/own-value";
import type { ArgumentSpecs, Command, OptionSpecs } from "./command.ts";
import { UsageError } from "./errors.ts";

type Parsed = {
  /** Undefined: no command was named. */
  command: Command | undefined;
  /** The commands that the help lists. */
  listed: readonly Command[];
  arguments: Record<string, string | undefined>;
  options: Record<string, string | boolean | string[] | undefined>;
  isJson: boolean;
  isHelp: boolean;
};

/** The options of every command. */
export const commonOptions = {
  json: { type: "boolean", about: "print one JSON document on stdout" },
  help: { type: "boolean", about: "print this" },
} as const satisfies OptionSpecs;

/** Finds the command and reads its arguments and options. Throws {@link UsageError}. */
export function parse(given: readonly string[], commands: readonly Command[]): Parsed {
  const argv = given[0] === "help" ? [...given.slice(1), "--help"] : given;
  const found = findCommand(argv, commands);
  if (found === undefined) {
    const [isHelp, isJson] = [argv.includes("--help") || argv.includes("-h"), argv.includes("--json")];
    const words = argv.filter((word) => !/^(-h|--help|--json)$/.test(word));
    const below = commands.filter(({ name }) => words.length > 0 && name.startsWith(`${words.join(" ")} `));
    if (words.length > 0 && !(isHelp && below.length > 0)) throw new UsageError(unknownCommand(words, commands));
    const listed = below.length > 0 ? below : commands;
    return { command: undefined, listed, arguments: {}, options: {}, isHelp, isJson };
  }
  const { command, rest } = found;
  const { values, positionals } = readOptions(command, rest);
  const { json, help, ...options } = values as Parsed["options"];
  const parsed = { command, listed: [command], options, isJson: json === true, isHelp: help === true };
  if (parsed.isHelp) return { ...parsed, arguments: {} };
  return { ...parsed, arguments: readArguments(command, positionals) };
}

/** The longest command at the beginning of the line. */
function findCommand(argv: readonly string[], commands: readonly Command[]) {
  const matches = commands.filter(({ name }) => name.split(" ").every((word, index) => argv[index] === word));
  const [command] = matches.sort((one, other) => other.name.length - one.name.length);
  return command === undefined ? undefined : { command, rest: argv.slice(command.name.split(" ").length) };
}

function unknownCommand(words: readonly string[], commands: readonly Command[]): string {
  const [first = ""] = words;
  const below = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (below.length > 0) return `\`infer ${first}\` needs one more word: ${below.join(", ")}.`;
  const names = [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""))];
  const meant = names.find((name) => isNear(first, name));
  const hint = meant === undefined ? "" : ` Do you mean \`infer ${meant}\`?`;
  return `There is no command \`${first}\`.${hint} \`infer --help\` lists them.`;
}

/** Whether two words differ by one inserted, deleted, changed or swapped letter. */
function isNear(typed: string, name: string): boolean {
  const at = [...typed].findIndex((letter, index) => letter !== name[index]);
  const from = at === -1 ? typed.length : at;
  const [left, right] = [typed.slice(from), name.slice(from)];
  const exchanged = `${left[1] ?? ""}${left[0] ?? ""}${left.slice(2)}`;
  return (
    from > 0 &&
    [left.slice(1) === right, left === right.slice(1), left.slice(1) === right.slice(1), exchanged === right].includes(
      true,
    )
  );
}

function readOptions(command: Command, args: readonly string[]) {
  const specs: OptionSpecs = { ...command.options, ...commonOptions };
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { type, multiple }]) => [
      name,
      { type, ...(multiple ? { multiple } : {}), ...(name === "help" ? { short: "h" } : {}) },
    ]),
  );
  try {
    // A negative number is a value, which its reader refuses, and no option.
    const marked = args.map((word) => word.replace(/^-(?=[\d.])/, MINUS));
    const { values, positionals } = parseArgs({ args: marked, options, allowPositionals: true });
    const unmarked = Object.entries(values).map(([name, value]) => [name, unmark(value)] as const);
    return { values: Object.fromEntries(unmarked), positionals: positionals.map((word) => String(unmark(word))) };
  } catch (error) {
    const reason = (error as Error).message.split(". To specify")[0]?.replace(/\.?$/, ".");
    const [, typed] = /^Unknown option '--([^']+)'/.exec(reason ?? "") ?? [];
    const meant = typed === undefined ? undefined : Object.keys(specs).find((name) => isNear(typed, name));
    const hint = meant === undefined ? "" : ` Do you mean \`--${meant}\`?`;
    throw new UsageError(`${reason}${hint} See \`infer ${command.name} --help\`.`);
  }
}

const MINUS = "\ue010";

function unmark(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmark);
  return typeof value === "string" ? value.replace(MINUS, "-") : value;
}

function readArguments(command: Command, positionals: readonly string[]): Record<string, string> {
  const specs: ArgumentSpecs = command.arguments;
  const names = Object.keys(specs);
  const missing = names.filter(
    (name, index) => positionals[index] === undefined && ownValue(specs, name)?.optional !== true,
  );
  const see = `See \`infer ${command.name} --help\`.`;
  if (missing.length > 0) throw new UsageError(`\`infer ${command.name}\` needs <${missing.join("> <")}>. ${see}`);
  if (positionals.length > names.length) {
    throw new UsageError(`\`infer ${command.name}\` does not take \`${positionals[names.length]}\`. ${see}`);
  }
  return Object.fromEntries(
    names.flatMap((name, index) => {
      const value = positionals[index];
      if (value === undefined) return [];
      const choices = ownValue(specs, name)?.choices;
      if (choices === undefined || choices.includes(value)) return [[name, value]];
      const meant = choices.find((choice) => isNear(value, choice));
      const hint = meant === undefined ? "" : ` Do you mean \`${meant}\`?`;
      throw new UsageError(`There is no ${name} \`${value}\`.${hint} Name one of ${choices.join(", ")}.`);
    }),
  );
}
