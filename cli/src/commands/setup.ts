import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { codingChoice, codingGaps, codingModel, codingModels } from "@inference/protocol/coding-model";
import { ownValue } from "@inference/protocol/own-value";
import { type SetupFile, type ToolSetup, toolSetups } from "@inference/protocol/tool-setups";
import { type Connection, listModels, type Model, readModel } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import type { Context } from "../context.ts";
import { CommandError, UsageError } from "../errors.ts";
import { gatewayOptions } from "../options.ts";
import { ownCommand } from "../own-command.ts";
import { perMillion } from "../price-words.ts";
import { hasSetup, withoutSetup, withSetup } from "../setup-file.ts";
import { textOf } from "../state-folder.ts";

const unfilled = toolSetups({ baseUrl: "", model: "", contextLength: 1 });
const tools = unfilled.map(({ id }) => id);

export const setup = command({
  name: "setup",
  about: "write the configuration of Codex, Claude Code, opencode or Aider, or show that of another tool",
  more:
    `The tools are ${tools.join(", ")}.\n` +
    "Each gets a file beside your own, Claude Code one of the project that you are in, in which other settings stay.\n" +
    "The key is in no file: Codex and Claude Code ask this command for it, the others take it from the environment.",
  arguments: { tool: { about: `one of ${tools.join(", ")}`, choices: tools } },
  options: {
    ...gatewayOptions,
    model: { type: "string", value: "model", about: "else $INFERENCE_MODEL, or the cheapest for coding" },
    "dry-run": { type: "boolean", about: "only show it" },
    undo: { type: "boolean", about: "take it out of the file again" },
  },
  isVerbatim: true,
  output: z.strictObject({
    tool: z.string(),
    model: z.string().nullable().describe("Null with --undo."),
    file: z.string().nullable().describe("Null: the tool has no file for it, and takes it from the environment."),
    is_written: z.boolean(),
    content: z.string().describe("Of the whole file as it is now, or would be; or the shell's lines."),
    environment: z.string().nullable().describe("What the shell needs as well; null: nothing."),
  }),
  async run(context, { arguments: { tool }, options }) {
    if (options.undo === true) return undo(context, tool);
    const connection = connectAsAnyone(context, options);
    const { id: model, context_length: contextLength } = await chooseModel(context, connection, options.model);
    requirePlain([connection.gateway, model, ...(contextLength === null ? [] : [String(contextLength)])]);
    const found = toolSetups({ baseUrl: connection.gateway, model, contextLength }).find(({ id }) => id === tool);
    if (found === undefined) throw new UsageError(`There is no \`${tool}\`.`);
    const { code, keyVariable } = found;
    const file = withKeyCommand(found, connection.gateway);
    const environment = file !== null && asksForKey(found) ? null : `export ${keyVariable}=$(infer keys show)`;
    if (file === null) {
      const content = code.replace("$INFERENCE_API_KEY", "$(infer keys show)");
      return { tool, model, file: null, is_written: false, content, environment };
    }
    const path = pathOf(context, file);
    const content = withSetup(textOf(path), file);
    const isDry = options["dry-run"] === true;
    const backup = isDry ? undefined : writeWhole(path, content, file);
    context.say(isDry ? `This would be ${path}:` : `Written: ${path}`);
    if (backup !== undefined) context.say(`As it was before: ${backup}`);
    context.say(
      environment === null
        ? `The tool asks \`infer keys show\` for the key.`
        : `The tool takes the key from the environment: ${environment}`,
    );
    context.say(`Start it: ${file.start}`);
    return { tool, model, file: path, is_written: !isDry, content, environment };
  },
  text: ({ content, is_written: isWritten }) => (isWritten ? "" : content),
});

/** The named model, or the default for coding. Says which needs of a coding tool the model lacks. */
async function chooseModel(context: Context, connection: Connection, option?: string): Promise<Model> {
  const { environment, say } = context;
  const named = option ?? (environment.INFERENCE_MODEL || undefined);
  if (named === undefined) {
    const models = await listModels(connection);
    const model = codingModel(models);
    if (model === undefined) throw new CommandError("This gateway lists no text model. Name a model with --model.");
    if (context.isInteractive && !context.isJson) return askForModel(context, models);
    say(`${codingChoice(model)} --model names another.`);
    return model;
  }
  const model = await readModel(connection, named);
  const gaps = codingGaps(model);
  if (gaps.length > 0) say(`\`${named}\` may not do for a coding tool: ${gaps.join(", and ")}.`);
  return model;
}

/** A gateway's word becomes a value in a tool's file and in a shell: it must not be more. Throws `CommandError`. */
function requirePlain(texts: readonly string[]): void {
  const odd = texts.find((text) => !/^[\w.:/@+~-]+$/.test(text));
  if (odd === undefined) return;
  throw new CommandError(`\`${odd}\` cannot be in a tool's configuration. --model names another model.`);
}

/** The most models to choose from. All are in `infer models`. */
const MOST_CHOICES = 9;

async function askForModel({ say, ask }: Context, models: readonly Model[]): Promise<Model> {
  const sorted = codingModels(models);
  const fit = sorted.filter((model) => codingGaps(model).length === 0);
  const offered = (fit.length === 0 ? sorted : fit).slice(0, MOST_CHOICES);
  for (const [at, { id, context_length: context, pricing }] of offered.entries()) {
    const { prompt, completion } = pricing as Record<string, unknown>;
    const prices = `$${perMillion(prompt)} input and $${perMillion(completion)} output a million tokens`;
    say(`${at + 1}  ${id}: ${context?.toLocaleString("en-US") ?? "?"} tokens of context, ${prices}`);
  }
  const typed = ((await ask("Model, by its number or id [1]: ")) ?? "").trim() || "1";
  const chosen = offered[Number(typed) - 1] ?? models.find(({ id }) => id === typed);
  if (chosen === undefined) throw new UsageError(`There is no model \`${typed}\`. \`infer models\` lists them.`);
  return chosen;
}

function asksForKey({ id }: ToolSetup): boolean {
  return id === "codex" || id === "claude-code";
}

/** The tool's file, in which it asks this command for the key if it can. */
function withKeyCommand(setup: ToolSetup, gateway: string): SetupFile | null {
  const { id, file } = setup;
  if (file === null || !asksForKey(setup)) return file;
  const words = [process.execPath, ownCommand(), "keys", "show", "--gateway", gateway];
  if (id === "claude-code") {
    const apiKeyHelper = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    return { ...file, content: JSON.stringify({ apiKeyHelper, ...(JSON.parse(file.content) as object) }) };
  }
  const [program, ...args] = words.map((word) => JSON.stringify(word));
  const auth = `[model_providers.gateway.auth]\ncommand = ${program}\nargs = [${args.join(", ")}]\ntimeout_ms = 20000`;
  return { ...file, content: `${file.content.replace(/^env_key = .*\n/m, "").trimEnd()}\n\n${auth}` };
}

/** Takes the setup out of the tool's file. Other people's changes to the file stay. An empty file is removed. */
function undo(context: Context, tool: string) {
  const setup = unfilled.find(({ id }) => id === tool);
  const file = setup === undefined ? null : withKeyCommand(setup, "");
  if (file === null) throw new CommandError(`\`infer setup ${tool}\` writes no file.`);
  const path = pathOf(context, file);
  const existing = textOf(path);
  if (existing === undefined) throw new CommandError(`There is no ${path}.`);
  const backup = `${path}.before-infer`;
  const content = withoutSetup(existing, textOf(backup), file);
  if (content === "") rmSync(path);
  else writeFileSync(path, content);
  rmSync(backup, { force: true });
  context.say(content === "" ? `Removed: ${path}` : `Taken out of ${path}`);
  return { tool, model: null, file: path, is_written: true, content, environment: null };
}

function pathOf({ environment, workingFolder }: Context, { path, of, folderVariable }: SetupFile): string {
  const folder = folderVariable === null ? undefined : ownValue(environment, folderVariable);
  const base = of === "project" ? workingFolder : (environment.HOME ?? homedir());
  const file = folder ? join(folder, basename(path)) : join(base, path);
  // A symbolic link stays a link.
  return existsSync(file) ? realpathSync(file) : file;
}

/** Returns the path of the backup, if it made one. A file that has a setup already is not worth one. */
function writeWhole(path: string, content: string, file: SetupFile): string | undefined {
  mkdirSync(dirname(path), { recursive: true });
  const backup = `${path}.before-infer`;
  const existing = textOf(path);
  const isFirst = existing !== undefined && !hasSetup(existing, file);
  const draft = `${path}.new`;
  // A project may have links at these names, to files of yours.
  for (const name of isFirst ? [draft, backup] : [draft]) rmSync(name, { force: true });
  if (isFirst) copyFileSync(path, backup, constants.COPYFILE_EXCL);
  const mode = existing === undefined ? 0o600 : statSync(path).mode & 0o777;
  writeFileSync(draft, content, { mode, flag: "wx" });
  renameSync(draft, path);
  return isFirst ? backup : undefined;
}
