import { errorMeanings } from "@inference/protocol/error-meanings";
import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import { otherTools, toolSetups } from "@inference/protocol/tool-setups";
import type { DocumentedGateway, Operation } from "./operation.ts";
import { exampleMessage, messageRules } from "./signed-message.ts";
import { skillSteps } from "./skill-text.ts";
import { snippets } from "./snippets.ts";
import { mintAndActivate, walletSteps } from "./wallet-program.ts";

/** /llms.txt: the API for language models that write programs, as one short page of Markdown. */
export function makeLlmsText(operations: readonly Operation[], at: DocumentedGateway): string {
  const { baseUrl, model } = at;
  const first = snippets(at).filter(({ id }) => id === "curl" || id === "openai-python" || id === "openai");
  const endpoints = operations.map(
    ({ method, path, title, credentials }) =>
      `- \`${method} ${path}\`: ${title}${credentials.length === 0 ? "" : ` (${credentials.join(" or ")})`}`,
  );
  const errors = Object.entries(errorTable).map(
    ([code, { status, retry }]) =>
      `- ${status} \`${code}\`: ${errorMeanings[code as ErrorCode]}${retry ? " Retry." : ""}`,
  );
  return `# Inference gateway

> An OpenAI-compatible inference API at ${baseUrl}/api/v1 (also ${baseUrl}/v1), paid from a prepaid balance in dollars.

- Send \`Authorization: Bearer <API key>\`. Any OpenAI client works with its base URL set to ${baseUrl}/api/v1.
- Model ids and prices: ${baseUrl}/api/v1/models. A chat model is, for instance, \`${model}\`.
- Always send \`max_tokens\`: the most a request can cost is reserved before it runs.
- \`usage.cost\` is what was charged, in dollars; the receipt is at ${baseUrl}/api/v1/generation?id=<x-request-id>.
- An answer that comes whole may take 10 minutes to begin and have 1 GiB; a request may take 14 minutes. What is given
  up then is charged as if you had left: the provider may bill it. Streams are charged for what was delivered.
- The same as tools (MCP, Streamable HTTP): ${baseUrl}/mcp, with the key as bearer token. Codex:
  \`codex mcp add gateway --url ${baseUrl}/mcp --bearer-token-env-var INFERENCE_API_KEY\`
- Errors are OpenAI's object, \`{"error":{"message","type","param","code"}}\`. Try again if \`x-should-retry\` is \`true\`,
  after \`retry-after\` seconds. The codes are below.

## First request

${first.map(({ title, language, code }) => `${title}:\n\n\`\`\`${language}\n${code}\n\`\`\``).join("\n\n")}

## Coding tools

${at.coding.why === null ? "" : `${at.coding.why}\n\n`}${toolSetups({ ...at, ...at.coding })
  .map(({ title, about, language, code }) => `${title}. ${about}\n\n\`\`\`${language}\n${code}\n\`\`\``)
  .join("\n\n")}

${otherTools}

${skillSteps(at)}

## From dollars to a key, as a program

A wallet with dollars and gas on one of the chains runs this program (\`npm install viem\`):
\`PRIVATE_KEY=0x... CHAIN_ID=... node first-key.mjs\`. Addresses and ABIs: ${baseUrl}/api/v1/contracts.

\`\`\`js
${walletSteps(at)
  .map(({ code }) => code)
  .join("\n\n")}
\`\`\`

On the primary chain this is \`mint\` and \`activate\` in one transaction:

\`\`\`js
${mintAndActivate}
\`\`\`

The signed message:

${messageRules(at)
  .map((rule) => `- ${rule}`)
  .join("\n")}

\`\`\`text
${exampleMessage(at)}
\`\`\`

## Documents

- [Reference](${baseUrl}/docs): every endpoint, field and error, with examples for several clients
- [OpenAPI 3.1](${baseUrl}/openapi.json): the same for machines
- [Skill](${baseUrl}/skill.md): the steps above as a skill for agents

## Endpoints

${endpoints.join("\n")}

## Errors

${errors.join("\n")}
`;
}
