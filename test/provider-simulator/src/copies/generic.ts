import type { ProviderCopy } from "./copy.ts";

/** A provider that is known by OpenAI's form alone. */
export const genericCopy: ProviderCopy = {
  basePath: "/openai/v1",
  hasKey: true,
  catalogue: { object: "list", data: [{ id: "model", object: "model", created: 1, owned_by: "someone" }] },
  limitFields: ["max_completion_tokens", "max_tokens"],
  usage: ({ prompt, completion }) => ({ prompt_tokens: prompt, completion_tokens: completion }),
  errors: {
    invalid: { status: 400, body: { message: "no such option" } },
    denied: { status: 401, body: {} },
    busy: { status: 429, body: {} },
    down: { status: 504, body: {} },
  },
};
