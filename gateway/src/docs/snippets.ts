import examples from "./generated/examples.json" with { type: "json" };

/** The first request with a client, to copy and run: a file of `docs/examples/first-request/`. Tests run it. */
export type Snippet = {
  id: string;
  title: string;
  language: "sh" | "python" | "js";
  install: string | null;
  code: string;
};

export type ExampleTerms = { baseUrl: string; model: string };

/** In the order of the page. */
const files = [
  "curl.sh",
  "openai-python.py",
  "python.py",
  "anthropic-python.py",
  "langchain-python.py",
  "openai.mjs",
  "ai-sdk.mjs",
  "ai-sdk-openai.mjs",
  "openai-responses.mjs",
  "agents.mjs",
  "anthropic.mjs",
  "langchain.mjs",
  "browser.mjs",
] as const;

const languages = { sh: "sh", py: "python", mjs: "js" } as const;

/** @param terms The gateway's URL, and a chat model. The key is in the environment, as `INFERENCE_API_KEY`. */
export function snippets(terms: ExampleTerms): Snippet[] {
  return files.map((file) => {
    const [id = "", extension] = file.split(".");
    const [head = "", ...parts] = examples[`first-request/${file}`].split("\n\n");
    const [title = "", install = null] = head.split("\n").map((line) => line.replace(/^(#|\/\/) /, ""));
    const language = languages[extension as keyof typeof languages];
    return { id, title, language, install, code: filledIn(parts.join("\n\n"), terms) };
  });
}

/** An example for this gateway. */
export function filledIn(code: string, { baseUrl, model }: ExampleTerms): string {
  return code.replaceAll("https://gateway.example", () => baseUrl).replaceAll(/\bMODEL\b/g, () => model);
}
