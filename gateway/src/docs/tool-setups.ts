/** How a coding tool is set up for this gateway. The key is in the environment, as `INFERENCE_API_KEY`. */
export type ToolSetup = { id: string; title: string; about: string; language: "toml" | "sh"; code: string };

/** `docs/clients.md` has the same code, with `{base_url}` and `MODEL`. A test compares them. */
export function toolSetups({ baseUrl, model }: { baseUrl: string; model: string }): ToolSetup[] {
  return [
    {
      id: "codex",
      title: "Codex",
      about:
        "In `~/.codex/config.toml`. `model_context_window` is the model's `context_length`. The warning about fallback " +
        "metadata does no harm.",
      language: "toml",
      code: `model = "${model}"
model_provider = "gateway"
model_context_window = 100000

[model_providers.gateway]
name = "gateway"
base_url = "${baseUrl}/v1"
env_key = "INFERENCE_API_KEY"
wire_api = "responses"`,
    },
    {
      id: "claude-code",
      title: "Claude Code",
      about: "It also asks for models of its own by name, so each of them is named here.",
      language: "sh",
      code: `export ANTHROPIC_BASE_URL=${baseUrl}
export ANTHROPIC_AUTH_TOKEN=$INFERENCE_API_KEY
export ANTHROPIC_API_KEY=""
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_OPUS_MODEL=${model} ANTHROPIC_DEFAULT_SONNET_MODEL=${model} ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
    },
  ];
}

/** Tools that need a base URL, a key and a model only. */
export const otherTools =
  "Open WebUI, LibreChat, Cline, Continue, Aider, Goose, opencode and Cursor take the base URL with `/v1` as that of an " +
  "OpenAI-compatible provider.";
