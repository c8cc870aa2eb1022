import { readFileSync } from "node:fs";
import { ownValue } from "@inference/protocol/own-value";
import { ClientError, ContractError, RefusedError } from "@inference/sdk";
import { BaseError } from "viem";
import * as z from "zod";
import type { Command, ExitCode } from "./command.ts";
import type { Context, Screen } from "./context.ts";
import { CommandError, UsageError } from "./errors.ts";
import { helpAsJson, helpOf, helpOfAll } from "./help.ts";
import { painted, styled, wrapped } from "./layout.ts";
import { readLogin } from "./login-state.ts";
import { withDollars } from "./money.ts";
import { parse } from "./parse.ts";
import { printable, printableJson } from "./printable.ts";

/** The part of {@link Context} that the process or a test gives. */
export type Outside = Omit<Context, "isJson" | "afterOutput" | "write"> & {
  /** Prints on stdout. */
  print(text: string): void;
};

/** One run of the command line: finds the command, runs it, and prints its output. Returns the exit code. */
export async function run(argv: readonly string[], commands: readonly Command[], outside: Outside): Promise<ExitCode> {
  const named = (words: string): string => asCalled(words, outside.environment);
  const columns = outside.stdout.columns ?? Number.POSITIVE_INFINITY;
  const say = (line: string): void => outside.say(shown(printable(named(line)), outside.stderr));
  const { print } = outside;
  const printShown = (text: string): void => print(shown(text, outside.stdout));
  const wantsJson = argv.includes("--json");
  const printJson = (value: unknown): void => print(`${printableJson(value)}\n`);
  if (["--version", "version"].includes(argv[0] ?? "")) {
    print(`${versionOf()}\n`);
    return 0;
  }
  try {
    const parsed = parse(argv, commands);
    const { command, isHelp, isJson } = parsed;
    if (command === undefined || isHelp) {
      const { listed } = parsed;
      const help = command === undefined ? helpOfAll(listed, columns, listed === commands) : helpOf(command, columns);
      if (isJson) printJson(helpAsJson(listed));
      else printShown(named(`${help}\n`));
      return command === undefined && !isHelp && !isJson ? 2 : 0;
    }
    const context: Context = {
      ...outside,
      ...{ isJson, say },
      write: (text) => {
        if (!isJson) print(printable(text));
      },
      afterOutput: [],
    };
    const output = await command.run(context, parsed as Parameters<Command["run"]>[1]);
    checkOutput(command, output);
    if (isJson) printJson(output);
    else if (command.text !== undefined) {
      const text = printable(named(withNewline(command.text(output as never, columns))));
      if (command.isVerbatim) print(text);
      else printShown(text);
    }
    for (const next of context.afterOutput) next();
    return command.exitCode?.(output as never) ?? 0;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    say(styled("red", `${failure.message}${hintOf(failure, outside)}`));
    if (wantsJson) printJson({ error: failure });
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Words for a terminal: in its width and colours. */
function shown(text: string, { columns, isColored }: Screen): string {
  return painted(columns === undefined ? text : wrapped(text, columns), isColored);
}

/** An error as `--json` prints it. `code` is the gateway's, the contract's error, or one of the library. */
export type Failure = { code: string; message: string; [more: string]: unknown };

/** Undefined: a bug. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof UsageError) return { code: "usage", message: error.message };
  if (error instanceof CommandError) return { code: "cannot", message: error.message };
  if (error instanceof ClientError) return { code: error.code, message: error.message };
  if (error instanceof RefusedError) {
    const { code, status, param, metadata, isRetryable } = error;
    return { code, message: asCommands(error.message), status, param, metadata, is_retryable: isRetryable };
  }
  if (error instanceof ContractError) {
    const { errorName, args, hash } = error;
    return { code: errorName ?? "contract", message: error.message, args: args.map(String), hash };
  }
  if (error instanceof BaseError) return { code: "chain", message: chainSentence(error) };
  const { syscall, path, code } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) {
    return { code: "cannot", message: `${path ?? "A file"} cannot be read or written (${code}).` };
  }
  // A malformed answer, found by the code that reads it.
  if (error instanceof UnreadableError || error instanceof TypeError || error instanceof RangeError) {
    const message = "The gateway or a node gave an answer that cannot be read. Check its URL, or its version.";
    return { code: "unreadable", message, detail: error.message };
  }
  return undefined;
}

/** The node's reason is in the details; viem's message is about the call. */
function chainSentence({ shortMessage, details }: BaseError): string {
  return details === "" || shortMessage.includes(details) ? shortMessage : `${shortMessage} The node says: ${details}`;
}

/** The gateway's routes in its errors, as commands. */
const routes: readonly (readonly [RegExp, string])[] = [
  [/`?POST \/api\/v1\/keys\/[\w{}-]+\/limit`?/g, "`infer keys limit`"],
  [/`?POST \/api\/v1\/keys(?![\w/])`?/g, "`infer keys create`"],
  [/`?GET (?:\/api)?\/v1\/keys(?![\w/])`?/g, "`infer keys list`"],
  [/`?GET (?:\/api)?\/v1\/models(?![\w/])`?/g, "`infer models`"],
  [/`?GET (?:\/api)?\/v1\/webhooks(?![\w/])`?/g, "`infer webhooks list`"],
  [/`?GET (?:\/api)?\/v1\/generation\?id=([\w-]+)`?/g, "`infer receipt $1`"],
  [/`?GET (?:\/api)?\/v1\/generation(?![\w/])`?/g, "`infer receipt`"],
];

function asCommands(message: string): string {
  return routes.reduce((text, [route, words]) => text.replaceAll(route, words), withDollars(message));
}

/** Commands that resolve an error of the gateway. */
const hints: Readonly<Record<string, string>> = {
  invalid_api_key: " `infer login` makes another key.",
  insufficient_balance: " `infer mint 5` and `infer activate 5` add five dollars.",
};

function hintOf({ code }: Failure, outside: Outside): string {
  if (code !== "unreachable") return ownValue(hints, code) ?? "";
  try {
    const isDevnet = readLogin(outside)?.signer.type === "devnet";
    return isDevnet ? " Does the devnet run? After it began anew, run `infer login --devnet` again." : "";
  } catch {
    return "";
  }
}

function versionOf(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

class UnreadableError extends Error {}

/** Throws if the output lacks a field of its schema. A newer gateway may add fields. */
function checkOutput({ output: schema }: Command, output: unknown): void {
  const { issues = [] } = z.safeParse(schema, output).error ?? {};
  const wrong = issues.find(({ code }) => code !== "unrecognized_keys");
  if (wrong !== undefined) throw new UnreadableError(`${wrong.path.join(".")}: ${wrong.message}`);
}

/** Writes commands as the user started this one: by name, or through `npm exec` with the package's name. */
export function asCalled(words: string, environment: Context["environment"]): string {
  if (environment.npm_command !== "exec") return words;
  return words.replaceAll(/(`|\$\()infer /g, "$1npm exec @prepaid-inference/infer -- ");
}

function withNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
