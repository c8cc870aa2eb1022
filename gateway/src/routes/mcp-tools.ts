import type { Tool } from "@modelcontextprotocol/server";
import * as z from "zod";
import { jsonSchema, parametersOf } from "../docs/openapi.ts";
import type { GatewayContext } from "../http/context.ts";
import { getActivity } from "./activity.ts";
import { createChatCompletion } from "./chat-completions.ts";
import { getCredits } from "./credits.ts";
import type { Endpoint } from "./endpoint.ts";
import { getGeneration } from "./generation.ts";
import { checkReceipt } from "./mcp-receipt-check.ts";
import { listModels } from "./models.ts";
import { getPrices } from "./prices-snapshot.ts";
import { quoteChat } from "./quote.ts";

/** An endpoint under a short name, for models that call tools. */
export type McpTool = {
  endpoint: Endpoint;
  /** Fields of the endpoint that a tool's result cannot carry. */
  without?: readonly string[];
  /** In place of the endpoint's own words. */
  about?: string;
  /** Makes the result of the endpoint's answer. */
  judge?: (context: GatewayContext, answer: unknown) => Promise<unknown>;
};

const streaming = ["stream", "stream_options"];

/** The tools by name, in the order in which they are listed. */
export const mcpTools: Readonly<Record<string, McpTool>> = {
  models: { endpoint: listModels },
  prices: { endpoint: getPrices },
  quote: { endpoint: quoteChat, without: streaming },
  credits: { endpoint: getCredits },
  spending: { endpoint: getActivity, without: ["format"] },
  receipt: { endpoint: getGeneration },
  verify: {
    endpoint: getGeneration,
    about:
      "Checks a receipt: the gateway's signature, the signed amount, and the proof that the charge is in a statement. " +
      "This is the gateway's own check. `infer verify` checks the same against the chain without the gateway's word.",
    judge: checkReceipt,
  },
  chat: { endpoint: createChatCompletion, without: streaming },
};

let listed: Tool[] | undefined;

/** The list for clients, made once. Each schema is that of the endpoint's parameters or body. */
export function listTools(): Tool[] {
  listed ??= Object.entries(mcpTools).map(([name, tool]) => {
    const { endpoint, about = sentences(endpoint) } = tool;
    const annotations = { readOnlyHint: endpoint.metered === undefined, destructiveHint: false };
    return { name, title: endpoint.title, description: about, inputSchema: inputSchemaOf(tool), annotations };
  });
  return listed;
}

function sentences({ title, about }: Endpoint): string {
  return about === undefined ? `${title}.` : `${title}. ${about}`;
}

function inputSchemaOf({ endpoint, without = [] }: McpTool): Tool["inputSchema"] {
  const { body } = endpoint;
  const { properties, required } =
    body === undefined ? parametersSchema(endpoint) : (jsonSchema(body.schema, "input") as InputSchema);
  const kept = Object.entries(properties).filter(([field]) => !without.includes(field));
  const schema = { properties: Object.fromEntries(kept), required: required ?? [], additionalProperties: false };
  return { type: "object", ...schema } as Tool["inputSchema"];
}

type InputSchema = { properties: Record<string, object>; required?: string[] };

function parametersSchema(endpoint: Endpoint): InputSchema {
  const parameters = argumentsOf(endpoint);
  return {
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description }) => [name, { ...schema, description }]),
    ),
    required: parameters.flatMap(({ name, required }) => (required ? [name] : [])),
  };
}

function argumentsOf(endpoint: Endpoint) {
  return parametersOf(endpoint).filter(({ in: place }) => place !== "header");
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/**
 * The request to the tool's endpoint. It has the headers of the client's request, with its credential.
 *
 * @param given The arguments. The endpoint checks them.
 * @returns A sentence if the arguments make no request.
 */
export function requestOf(
  { endpoint, without = [] }: McpTool,
  given: Readonly<Record<string, unknown>>,
  from: Request,
): Request | string {
  const { method, body, path } = endpoint;
  const left = without.find((field) => given[field] !== undefined);
  if (left !== undefined) return `A tool has no \`${left}\`: leave it out, or use ${method} ${path}.`;
  const headers = new Headers(from.headers);
  for (const name of ["content-length", "content-encoding", "transfer-encoding"]) headers.delete(name);
  const { origin } = new URL(from.url);
  const terms = { method, headers, signal: from.signal };
  if (body !== undefined) return new Request(origin + path, { ...terms, body: JSON.stringify(given) });
  const odd = Object.keys(given).find((name) => !scalar.safeParse(given[name]).success);
  if (odd !== undefined) return `\`${odd}\` must be a text or a number.`;
  const inPath = Object.keys(endpoint.pathParameters ?? {});
  const filled = inPath.reduce(
    (text, name) => text.replace(`{${name}}`, () => encodeURIComponent(String(given[name] ?? ""))),
    path,
  );
  const query = Object.entries(given).filter(([name]) => !inPath.includes(name));
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)]));
  return new Request(`${origin}${filled}?${search}`, terms);
}
