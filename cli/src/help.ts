import * as z from "zod";
import type { Command, OptionSpecs } from "./command.ts";
import { commonOptions } from "./parse.ts";

/** The list of all commands. */
export function helpOfAll(commands: readonly Command[]): string {
  const lines = commands.map((command) => [usageOf(command), command.about] as const);
  return [
    "infer: from dollars in a wallet to an answer, and the bill checked.",
    "",
    ...columns(lines),
    "",
    "Every command takes --json and --help. Data is printed on stdout, all else on stderr.",
    "It ends with 0 if it is done, 1 if the gateway, a contract or the network refused, 2 for wrong usage, and 3 if a",
    "bill is not verifiable.",
    "",
    "Dollars become balance in two steps: `infer mint 5` pays five dollars of a chain for as many tokens, and",
    "`infer activate 5` burns these for balance at the gateway. Requests are paid from the balance.",
    "",
    "Begin with `infer login`, or with `infer login --devnet` beside `npm start`.",
  ].join("\n");
}

export function helpOf(command: Command): string {
  const { about, more, arguments: args, options } = command;
  const own: OptionSpecs = { ...options, ...commonOptions };
  const flag = ([name, { type, value }]: [string, OptionSpecs[string]]): string =>
    type === "boolean" ? `--${name}` : `--${name} ${(value ?? name).toUpperCase()}`;
  return [
    `infer ${usageOf(command)}`,
    "",
    `${about[0]?.toUpperCase()}${about.slice(1)}.`,
    ...(more === undefined ? [] : ["", more]),
    ...section(
      "Arguments",
      Object.entries(args).map(([name, spec]) => [`<${name}>`, spec.about]),
    ),
    ...section(
      "Options",
      Object.entries(own).map((entry) => [flag(entry), entry[1].about]),
    ),
  ].join("\n");
}

/** The help for programs: arguments and options of each command, and the JSON schema of its output. */
export function helpAsJson(commands: readonly Command[]) {
  return {
    commands: commands.map(({ name, about, arguments: args, options, output }) => ({
      ...{ name, about, arguments: args, options: { ...options, ...commonOptions } },
      output: z.toJSONSchema(output, { unrepresentable: "any" }),
    })),
  };
}

function usageOf({ name, arguments: args }: Command): string {
  const words = Object.entries(args).map(([word, { optional }]) => (optional ? `[${word}]` : `<${word}>`));
  return [name, ...words].join(" ");
}

function section(title: string, lines: (readonly [string, string])[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...columns(lines)];
}

function columns(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
