import type * as z from "zod";
import type { Context } from "./context.ts";

/** 0: done. 1: the gateway, a contract or the network refused. 2: wrong usage. 3: not verifiable. */
export type ExitCode = 0 | 1 | 2 | 3;

type ArgumentSpec = { about: string; optional?: true; choices?: readonly string[] };
type OptionSpec = {
  type: "string" | "boolean";
  about: string;
  /** The value's name in the help; for strings. */
  value?: string;
  /** May be given several times. */
  multiple?: true;
};
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;
export type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;

type OptionValues<O extends OptionSpecs> = {
  [K in keyof O]: O[K] extends { type: "boolean" }
    ? boolean | undefined
    : O[K] extends { multiple: true }
      ? string[] | undefined
      : string | undefined;
};
type ArgumentValues<A extends ArgumentSpecs> = {
  [K in keyof A]: A[K] extends { optional: true } ? string | undefined : string;
};

/** One command: its help, arguments and options, the schema of its `--json` output, and its function. */
export type Command<
  A extends ArgumentSpecs = ArgumentSpecs,
  O extends OptionSpecs = OptionSpecs,
  S extends z.ZodType = z.ZodType,
> = {
  /** For example `keys create`. */
  name: string;
  /** Its heading in the help, from the list of all commands. */
  group?: string;
  /** One line. */
  about: string;
  /** More lines of help. */
  more?: string;
  arguments: A;
  options: O;
  output: S;
  run(context: Context, input: { arguments: ArgumentValues<A>; options: OptionValues<O> }): Promise<z.input<S>>;
  /** The output for people, for a terminal of so many columns; absent: `run` prints it. */
  text?(output: z.input<S>, columns: number): string;
  /** The output is for copying: its lines are not wrapped. */
  isVerbatim?: true;
  /** Absent: 0. */
  exitCode?(output: z.input<S>): ExitCode;
};

/**
 * Declares a command. The types of its input follow from its arguments and options. `commands/all.ts` lists all
 * commands.
 */
export function command<A extends ArgumentSpecs, O extends OptionSpecs, S extends z.ZodType>(
  declared: Command<A, O, S>,
): Command {
  return declared as unknown as Command;
}
