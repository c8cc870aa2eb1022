import * as z from "zod";
import type { Command, OptionSpecs } from "./command.ts";
import { styled, wrapped } from "./layout.ts";
import { commonOptions } from "./parse.ts";

/** The list of the commands, by group. */
export function helpOfAll(commands: readonly Command[], columns: number, isWhole = true): string {
  const groups = [...new Set(commands.map(({ group }) => group))];
  const width = widthOfFirst(commands.map(usageOf));
  if (!isWhole) {
    return section("Commands", commands.map(lineOf), { columns, width }).slice(1).join("\n");
  }
  return [
    "infer: from dollars in a wallet to an answer, and the bill checked.",
    ...groups.flatMap((group = "Commands") => {
      const listed = commands.filter((each) => each.group === group);
      return section(group, listed.map(lineOf), { columns, width });
    }),
    "",
    "Every command takes --json and --help. Data is printed on stdout, all else on stderr.",
    "Exit codes: 0 done, 1 the gateway, a contract or the network refused, 2 wrong usage, 3 a bill is not verifiable.",
    "",
    "Dollars become balance in two steps: `infer mint 5` pays five dollars of a chain for as many tokens, and " +
      "`infer activate 5` burns these for balance at the gateway. Requests are paid from the balance.",
    "",
    "Begin with `infer login`, or with `infer login --devnet` beside `npm start`.",
  ].join("\n");
}

export function helpOf(command: Command, columns: number): string {
  const { about, more, arguments: args, options } = command;
  const own: OptionSpecs = { ...options, ...commonOptions };
  const flag = ([name, { type, value }]: [string, OptionSpecs[string]]): string =>
    type === "boolean" ? `--${name}` : `--${name} ${(value ?? name).toUpperCase()}`;
  return [
    styled("bold", `infer ${usageOf(command)}`),
    "",
    `${about[0]?.toUpperCase()}${about.slice(1)}.`,
    ...(more === undefined ? [] : ["", wrapped(more.replaceAll("\n", " "), Math.min(columns, 116))]),
    ...section(
      "Arguments",
      Object.entries(args).map(([name, spec]) => [`<${name}>`, spec.about]),
      { columns },
    ),
    ...section(
      "Options",
      Object.entries(own).map((entry) => [flag(entry), entry[1].about]),
      { columns },
    ),
  ].join("\n");
}

/** The help for programs: arguments and options of each command, and the JSON schema of its output. */
export function helpAsJson(commands: readonly Command[]) {
  return {
    commands: commands.map(({ name, group, about, arguments: args, options, output }) => ({
      ...{ name, group, about, arguments: args, options: { ...options, ...commonOptions } },
      output: z.toJSONSchema(output, { unrepresentable: "any" }),
    })),
  };
}

function usageOf({ name, arguments: args }: Command): string {
  const words = Object.entries(args).map(([word, { optional }]) => (optional ? `[${word}]` : `<${word}>`));
  return [name, ...words].join(" ");
}

function lineOf(command: Command): [string, string] {
  return [usageOf(command), command.about];
}

type Lines = readonly (readonly [string, string])[];

function section(title: string, lines: Lines, at: { columns: number; width?: number }): string[] {
  const { columns, width = widthOfFirst(lines.map(([left]) => left)) } = at;
  const isNarrow = width + 4 > columns / 2;
  const shown = lines.map(([left, right]) =>
    isNarrow ? `  ${left}\n      ${right}` : `  ${left.padEnd(width)}  ${right}`,
  );
  return lines.length === 0 ? [] : ["", styled("bold", title), ...shown];
}

function widthOfFirst(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(({ length }) => length));
}
