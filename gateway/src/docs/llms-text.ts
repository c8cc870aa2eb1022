import { errorTable } from "@inference/protocol/errors";
import type { Operation } from "./operation.ts";
import type { Snippet } from "./snippets.ts";

/** /llms.txt: what a program that writes programs needs to know, in one short page of Markdown. */
export function makeLlmsText(
  operations: readonly Operation[],
  { baseUrl, curl, model }: { baseUrl: string; curl: Snippet; model: string },
): string {
  const routes = operations.map(
    ({ method, path, title, credentials }) =>
      `- \`${method} ${path}\`: ${title}${credentials.length === 0 ? "" : ` (${credentials.join(" or ")})`}`,
  );
  const final = Object.entries(errorTable).flatMap(([code, { retry }]) => (retry ? [] : [`\`${code}\``]));
  return `# Inference gateway

> An OpenAI-compatible inference API at ${baseUrl}/api/v1 (also ${baseUrl}/v1), paid from a prepaid balance in dollars.

- Send \`Authorization: Bearer <API key>\`. Any OpenAI client works with its base URL set to ${baseUrl}/api/v1.
- Model ids and prices: ${baseUrl}/api/v1/models. A chat model is, for instance, \`${model}\`.
- Always send \`max_tokens\`: the most a request can cost is reserved before it runs.
- \`usage.cost\` is what was charged, in dollars; the receipt is at ${baseUrl}/api/v1/generation?id=<x-request-id>.
- Errors are OpenAI's object, \`{"error":{"message","type","param","code"}}\`. Try again if \`x-should-retry\` is \`true\`,
  after \`retry-after\` seconds. These do not heal by trying again: ${final.join(", ")}.

## First request

\`\`\`sh
${curl.code}
\`\`\`

## Documents

- [Reference](${baseUrl}/docs): every route, field and error, with examples for several clients
- [OpenAPI 3.1](${baseUrl}/openapi.json): the same for machines

## Routes

${routes.join("\n")}
`;
}
