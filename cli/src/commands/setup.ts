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
import { type SetupFile, toolSetups } from "@inference/protocol/tool-setups";
import { readModel } from "@inference/sdk";
import * as z from "zod";
import { cheapestModel } from "../cheapest-model.ts";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import type { Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { gatewayOptions } from "../options.ts";
import { withSetup } from "../setup-file.ts";

const tools = toolSetups({ baseUrl: "", model: "" }).map(({ id }) => id);

export const setup = command({
  name: "setup",
  about: "write the configuration of Codex, Claude Code, opencode or Aider, or show that of another tool",
  more:
    `The tools are ${tools.join(", ")}.\n` +
    "What the tool's own file has besides stays. The key is written nowhere: the tool takes it from the environment.",
  arguments: { tool: { about: `one of ${tools.join(", ")}` } },
  options: {
    ...gatewayOptions,
    model: { type: "string", value: "model", about: "else $INFERENCE_MODEL, or the cheapest that writes text" },
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
    const model = options.model ?? (context.environment.INFERENCE_MODEL || (await cheapestModel(context, connection)));
    const { context_length: contextLength } = await readModel(connection, model);
    const at = { baseUrl: connection.gateway, model, ...(contextLength === null ? {} : { contextLength }) };
    const found = toolSetups(at).find(({ id }) => id === tool);
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
    return { tool, model, file: path, is_written: !isDry, content, environment };
  },
  text: ({ content, is_written: isWritten }) => (isWritten ? "" : content),
});

function pathOf({ environment }: Context, { path, folderVariable }: SetupFile): string {
  const folder = folderVariable === null ? undefined : environment[folderVariable];
  const file = folder ? join(folder, basename(path)) : join(environment.HOME ?? homedir(), path);
  // A link stays one.
  return existsSync(file) ? realpathSync(file) : file;
}

/** Returns where the file of before is kept. The first stays: it is the one without a setup. */
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
