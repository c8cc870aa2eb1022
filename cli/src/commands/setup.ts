import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { codingChoice, codingGaps, codingModel } from "@inference/protocol/coding-model";
import { ownValue } from "@inference/protocol/own-value";
import { type SetupFile, toolSetups } from "@inference/protocol/tool-setups";
import { type Connection, listModels, type Model, readModel } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import type { Context } from "../context.ts";
import { CommandError, UsageError } from "../errors.ts";
import { gatewayOptions } from "../options.ts";
import { withSetup } from "../setup-file.ts";

const tools = toolSetups({ baseUrl: "", model: "", contextLength: null }).map(({ id }) => id);

export const setup = command({
  name: "setup",
  about: "write the configuration of Codex, Claude Code, opencode or Aider, or show that of another tool",
  more:
    `The tools are ${tools.join(", ")}.\n` +
    "Codex gets a profile of its own, Claude Code a file of the project that you are in. Other settings in the file stay.\n" +
    "The key is written nowhere: the tool takes it from the environment.",
  arguments: { tool: { about: `one of ${tools.join(", ")}` } },
  options: {
    ...gatewayOptions,
    model: { type: "string", value: "model", about: "else $INFERENCE_MODEL, or the cheapest for coding" },
    "dry-run": { type: "boolean", about: "only show it" },
  },
  output: z.strictObject({
    tool: z.string(),
    model: z.string(),
    file: z.string().nullable().describe("Null: the tool has no file for it, and takes it from the environment."),
    is_written: z.boolean(),
    content: z.string().describe("Of the whole file as it is now, or would be; or the shell's lines."),
    environment: z.string().describe("What the shell needs as well."),
  }),
  async run(context, { arguments: { tool }, options }) {
    if (!tools.some((each) => each === tool))
      throw new UsageError(`There is no \`${tool}\`: name one of ${tools.join(", ")}.`);
    const connection = connectAsAnyone(context, options);
    const { id: model, context_length: contextLength } = await chooseModel(context, connection, options.model);
    const found = toolSetups({ baseUrl: connection.gateway, model, contextLength }).find(({ id }) => id === tool);
    if (found === undefined) throw new UsageError(`There is no \`${tool}\`.`);
    const { file, code, keyVariable } = found;
    const environment = `export ${keyVariable}=$(infer keys show)`;
    if (file === null) {
      const content = code.replace("$INFERENCE_API_KEY", "$(infer keys show)");
      return { tool, model, file: null, is_written: false, content, environment };
    }
    const path = pathOf(context, file);
    const content = withSetup(existsSync(path) ? readFileSync(path, "utf8") : undefined, file);
    const isDry = options["dry-run"] === true;
    const backup = isDry ? undefined : writeWhole(path, content);
    context.say(isDry ? `This would be ${path}:` : `Written: ${path}`);
    if (backup !== undefined) context.say(`As it was before: ${backup}`);
    context.say(`The tool takes the key from the environment: ${environment}`);
    context.say(`Start it: ${file.start}`);
    return { tool, model, file: path, is_written: !isDry, content, environment };
  },
  text: ({ content, is_written: isWritten }) => (isWritten ? "" : content),
});

/** The named model, or the default for coding. Says which needs of a coding tool the model lacks. */
async function chooseModel({ environment, say }: Context, connection: Connection, option?: string): Promise<Model> {
  const named = option ?? (environment.INFERENCE_MODEL || undefined);
  if (named === undefined) {
    const model = codingModel(await listModels(connection));
    if (model === undefined) throw new CommandError("This gateway lists no text model. Name a model with --model.");
    say(`${codingChoice(model)} --model names another.`);
    return model;
  }
  const model = await readModel(connection, named);
  const gaps = codingGaps(model);
  if (gaps.length > 0) say(`\`${named}\` may not do for a coding tool: ${gaps.join(", and ")}.`);
  return model;
}

function pathOf({ environment, workingFolder }: Context, { path, of, folderVariable }: SetupFile): string {
  const folder = folderVariable === null ? undefined : ownValue(environment, folderVariable);
  const base = of === "project" ? workingFolder : (environment.HOME ?? homedir());
  const file = folder ? join(folder, basename(path)) : join(base, path);
  // A symbolic link stays a link.
  return existsSync(file) ? realpathSync(file) : file;
}

/** Returns the path of the backup. The first backup stays, because it has no setup in it. */
function writeWhole(path: string, content: string): string | undefined {
  mkdirSync(dirname(path), { recursive: true });
  const backup = `${path}.before-infer`;
  const isChanged = existsSync(path) && readFileSync(path, "utf8") !== content;
  if (isChanged && !existsSync(backup)) copyFileSync(path, backup);
  const mode = existsSync(path) ? statSync(path).mode & 0o777 : 0o600;
  writeFileSync(`${path}.new`, content, { mode });
  renameSync(`${path}.new`, path);
  return isChanged ? backup : undefined;
}
