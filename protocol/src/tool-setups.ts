import texts from "./generated/tool-setups.json" with { type: "json" };

/** The configuration of a tool for a gateway, as the reference and the command line show it. */
export type ToolSetup = {
  id: "codex" | "claude-code" | "opencode" | "aider" | "openwebui" | "librechat" | "continue" | "goose";
  title: string;
  about: string;
  language: "toml" | "json" | "yaml" | "sh";
  /** To copy. The key is in the environment, as `INFERENCE_API_KEY`. */
  code: string;
  /** The tool's own file, if the tool has one that can hold this. The file never has the key. */
  file: SetupFile | null;
  /** The environment variable from which the tool reads the key. */
  keyVariable: string;
};

export type SetupFile = {
  /** From the home folder, or from the project's folder. */
  path: string;
  of: "home" | "project";
  /** The variable that names another folder for the file, if it is set. */
  folderVariable: string | null;
  format: "toml" | "json" | "yaml";
  content: string;
  /** The command that starts the tool with this file. */
  start: string;
};

/**
 * The files of `docs/examples/tools/`, filled in.
 *
 * @param at The gateway's URL, a chat model, and its `context_length`.
 */
export function toolSetups(at: { baseUrl: string; model: string; contextLength: number | null }): ToolSetup[] {
  const filled = (name: keyof typeof texts): string =>
    texts[name]
      .replaceAll("https://gateway.example", () => at.baseUrl)
      .replaceAll(/\bMODEL\b/g, () => at.model)
      .replace(/\n.*131072.*/, (line) =>
        at.contextLength === null ? "" : line.replace("131072", String(at.contextLength)),
      );
  return tools.map(({ id, language, file, ...tool }) => {
    const code = filled(`tools/${id}.${language}` as keyof typeof texts);
    if (file === null) return { id, language, ...tool, code, file };
    const content = filled(`tools/${id}.${file.format}` as keyof typeof texts);
    return { id, language, ...tool, code, file: { ...file, content } };
  });
}

type Tool = Omit<ToolSetup, "code" | "file"> & { file: Omit<SetupFile, "content"> | null };

const tools: readonly Tool[] = [
  {
    id: "codex",
    title: "Codex",
    about:
      "In `~/.codex/gateway.config.toml`, a profile beside your own configuration: start `codex --profile gateway`. " +
      "`model_context_window` is the model's `context_length`. The warning about fallback metadata does no harm.",
    language: "toml",
    file: {
      ...{ path: ".codex/gateway.config.toml", of: "home", folderVariable: "CODEX_HOME" },
      ...{ format: "toml", start: "codex --profile gateway" },
    },
    keyVariable: "INFERENCE_API_KEY",
  },
  {
    id: "claude-code",
    title: "Claude Code",
    about:
      "Claude Code also asks for models of its own by name, so each of them is named here. To set up one project only, " +
      "put these as `env` into its `.claude/settings.local.json`.",
    language: "sh",
    file: {
      ...{ path: ".claude/settings.local.json", of: "project", folderVariable: null },
      ...{ format: "json", start: "claude" },
    },
    keyVariable: "ANTHROPIC_AUTH_TOKEN",
  },
  {
    id: "opencode",
    title: "opencode",
    about:
      "In `~/.config/opencode/gateway.json`, beside your own configuration: start " +
      "`OPENCODE_CONFIG=~/.config/opencode/gateway.json opencode`.",
    language: "json",
    file: {
      ...{ path: ".config/opencode/gateway.json", of: "home", folderVariable: null },
      ...{ format: "json", start: "OPENCODE_CONFIG=~/.config/opencode/gateway.json opencode" },
    },
    keyVariable: "INFERENCE_API_KEY",
  },
  {
    id: "aider",
    title: "Aider",
    about:
      "In `~/.aider.gateway.conf.yml`, beside your own configuration: start `aider --config ~/.aider.gateway.conf.yml`. " +
      "Aider reads the key from `OPENAI_API_KEY`.",
    language: "yaml",
    file: {
      ...{ path: ".aider.gateway.conf.yml", of: "home", folderVariable: null },
      ...{ format: "yaml", start: "aider --config ~/.aider.gateway.conf.yml" },
    },
    keyVariable: "OPENAI_API_KEY",
  },
  {
    id: "openwebui",
    title: "Open WebUI",
    about: "For the first start (`open-webui serve`, or `-e` of its container). Later its settings page has them.",
    language: "sh",
    file: null,
    keyVariable: "OPENAI_API_KEY",
  },
  {
    id: "librechat",
    title: "LibreChat",
    about: "In `librechat.yaml`.",
    language: "yaml",
    file: null,
    keyVariable: "INFERENCE_API_KEY",
  },
  {
    id: "continue",
    title: "Continue",
    about:
      "In `~/.continue/config.yaml`. Chat and edit work. Autocomplete does not: the gateway has no `/completions` endpoint.",
    language: "yaml",
    file: null,
    keyVariable: "INFERENCE_API_KEY",
  },
  {
    id: "goose",
    title: "Goose",
    about: "The address is without `/v1`, which is in the path.",
    language: "sh",
    file: null,
    keyVariable: "OPENAI_API_KEY",
  },
];

/** Tools that are set up in a window. */
export const otherTools =
  "Cline: choose the provider `OpenAI Compatible`. Cursor: under Settings, Models, give the key as that of OpenAI, and " +
  "override OpenAI's base URL. Both take the base URL with `/v1`.";
