/** How a tool is set up for a gateway. Its reference and the command line show the same. */
export type ToolSetup = {
  id: "codex" | "claude-code" | "opencode" | "aider" | "openwebui" | "librechat" | "continue" | "goose";
  title: string;
  about: string;
  language: "toml" | "json" | "yaml" | "sh";
  /** To copy. The key is in the environment, as `INFERENCE_API_KEY`. */
  code: string;
  /** The tool's own file, if it has one that can hold this. It never has the key. */
  file: SetupFile | null;
  /** The variable of the environment in which the tool looks for the key. */
  keyVariable: string;
};

export type SetupFile = {
  /** From the home folder, or from the project's folder. */
  path: string;
  of: "home" | "project";
  /** The variable that names another folder for it, if it is set. */
  folderVariable: string | null;
  format: "toml" | "json" | "yaml";
  content: string;
  /** The command that starts the tool with this file. */
  start: string;
};

/**
 * `docs/clients.md` has the same code, with `{base_url}`, `MODEL` and a context window of 131,072. A test compares them.
 *
 * @param at The gateway's URL, a chat model, and its `context_length`.
 */
export function toolSetups(at: { baseUrl: string; model: string; contextLength: number | null }): ToolSetup[] {
  return [codex(at), claudeCode(at), opencode(at), aider(at), openWebUi(at), librechat(at), continueDev(at), goose(at)];
}

/** Tools that are set up in a window. */
export const otherTools =
  "Cline: choose the provider `OpenAI Compatible`. Cursor: under Settings, Models, give the key as that of OpenAI, and " +
  "override OpenAI's base URL. Both take the base URL with `/v1`.";

type At = Parameters<typeof toolSetups>[0];

function codex({ baseUrl, model, contextLength }: At): ToolSetup {
  const window = contextLength === null ? "" : `\nmodel_context_window = ${contextLength}`;
  const code = `model = "${model}"
model_provider = "gateway"${window}

[model_providers.gateway]
name = "gateway"
base_url = "${baseUrl}/v1"
env_key = "INFERENCE_API_KEY"
wire_api = "responses"`;
  return {
    id: "codex",
    title: "Codex",
    about:
      "In `~/.codex/gateway.config.toml`, a profile beside your own configuration: start `codex --profile gateway`. " +
      "`model_context_window` is the model's `context_length`. The warning about fallback metadata does no harm.",
    language: "toml",
    code,
    file: {
      ...{ path: ".codex/gateway.config.toml", of: "home", folderVariable: "CODEX_HOME" },
      ...{ format: "toml", content: code, start: "codex --profile gateway" },
    },
    keyVariable: "INFERENCE_API_KEY",
  };
}

function claudeCode({ baseUrl, model }: At): ToolSetup {
  const env = {
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: "",
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
  };
  return {
    id: "claude-code",
    title: "Claude Code",
    about:
      "It also asks for models of its own by name, so each of them is named here. To set up one project only, put these " +
      "as `env` into its `.claude/settings.local.json`.",
    language: "sh",
    code: `export ANTHROPIC_BASE_URL=${baseUrl}
export ANTHROPIC_AUTH_TOKEN=$INFERENCE_API_KEY
export ANTHROPIC_API_KEY=""
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_OPUS_MODEL=${model} ANTHROPIC_DEFAULT_SONNET_MODEL=${model} ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
    file: {
      ...{ path: ".claude/settings.local.json", of: "project", folderVariable: null },
      ...{ format: "json", content: JSON.stringify({ env }, null, 2), start: "claude" },
    },
    keyVariable: "ANTHROPIC_AUTH_TOKEN",
  };
}

function opencode({ baseUrl, model }: At): ToolSetup {
  const gateway = {
    npm: "@ai-sdk/openai-compatible",
    name: "gateway",
    options: { baseURL: `${baseUrl}/v1`, apiKey: "{env:INFERENCE_API_KEY}" },
    models: { [model]: {} },
  };
  const config = { $schema: "https://opencode.ai/config.json", provider: { gateway }, model: `gateway/${model}` };
  const code = JSON.stringify(config, null, 2);
  return {
    id: "opencode",
    title: "opencode",
    about: "In `~/.config/opencode/opencode.json`.",
    language: "json",
    code,
    file: {
      ...{ path: ".config/opencode/opencode.json", of: "home", folderVariable: null },
      ...{ format: "json", content: code, start: "opencode" },
    },
    keyVariable: "INFERENCE_API_KEY",
  };
}

function aider({ baseUrl, model }: At): ToolSetup {
  const code = `openai-api-base: ${baseUrl}/v1
model: openai/${model}`;
  return {
    id: "aider",
    title: "Aider",
    about: "In `~/.aider.conf.yml`. It reads the key from `OPENAI_API_KEY`.",
    language: "yaml",
    code,
    file: {
      ...{ path: ".aider.conf.yml", of: "home", folderVariable: null },
      ...{ format: "yaml", content: code, start: "aider" },
    },
    keyVariable: "OPENAI_API_KEY",
  };
}

function openWebUi({ baseUrl }: At): ToolSetup {
  return {
    id: "openwebui",
    title: "Open WebUI",
    about: "For its first start (`open-webui serve`, or `-e` of its container). Later its page of settings has them.",
    language: "sh",
    code: `export OPENAI_API_BASE_URL=${baseUrl}/v1
export OPENAI_API_KEY=$INFERENCE_API_KEY`,
    file: null,
    keyVariable: "OPENAI_API_KEY",
  };
}

function librechat({ baseUrl, model }: At): ToolSetup {
  return {
    id: "librechat",
    title: "LibreChat",
    about: "In `librechat.yaml`.",
    language: "yaml",
    code: `version: 1.2.1
endpoints:
  custom:
    - name: gateway
      apiKey: "\${INFERENCE_API_KEY}"
      baseURL: ${baseUrl}/v1
      models:
        default: ["${model}"]
        fetch: true`,
    file: null,
    keyVariable: "INFERENCE_API_KEY",
  };
}

function continueDev({ baseUrl, model }: At): ToolSetup {
  return {
    id: "continue",
    title: "Continue",
    about:
      "In `~/.continue/config.yaml`. Chat and edit work. Autocomplete does not: the gateway has no `/completions` endpoint.",
    language: "yaml",
    code: `name: gateway
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${baseUrl}/v1
    apiKey: \${{ secrets.INFERENCE_API_KEY }}
    roles: [chat, edit, apply]`,
    file: null,
    keyVariable: "INFERENCE_API_KEY",
  };
}

function goose({ baseUrl, model }: At): ToolSetup {
  return {
    id: "goose",
    title: "Goose",
    about: "The address is without `/v1`, which is in the path.",
    language: "sh",
    code: `export GOOSE_PROVIDER=openai GOOSE_MODEL=${model}
export OPENAI_HOST=${baseUrl} OPENAI_BASE_PATH=v1/chat/completions
export OPENAI_API_KEY=$INFERENCE_API_KEY`,
    file: null,
    keyVariable: "OPENAI_API_KEY",
  };
}
