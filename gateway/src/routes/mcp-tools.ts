import { verifyProof } from "@inference/protocol/merkle-tree";
import { isSignedBy, readSignedReceipt } from "@inference/protocol/signed-receipt";
import type { generationAnswer } from "@inference/protocol/wire/answers";
import type { Tool } from "@modelcontextprotocol/server";
import { hexToBytes } from "viem";
import * as z from "zod";
import { jsonSchema, parametersOf } from "../docs/openapi.ts";
import type { GatewayContext } from "../http/context.ts";
import { getActivity } from "./activity.ts";
import { createChatCompletion } from "./chat-completions.ts";
import { getCredits } from "./credits.ts";
import type { Endpoint } from "./endpoint.ts";
import { getGeneration } from "./generation.ts";
import { listModels } from "./models.ts";
import { getPrices } from "./prices.ts";
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

type Check = { check: string; result: "pass" | "fail" | "skipped"; finding: string };
type Receipt = z.infer<typeof generationAnswer>["data"];

/**
 * The checks of one receipt that need nothing beside it and the gateway's receipt key.
 *
 * @param answer The answer of GET /api/v1/generation.
 */
export async function checkReceipt(context: GatewayContext, answer: unknown) {
  const { data } = answer as z.infer<typeof generationAnswer>;
  const receiptKey = context.get("gateway").receiptKey.publicKey;
  const { id, charge_nano_usd, settlement } = data;
  const checks = [await checkSignature(data, receiptKey), checkStatement(data)];
  return { data: { id, charge_nano_usd, status: settlement?.status ?? null, receipt_key: receiptKey, checks } };
}

async function checkSignature({ id, charge_nano_usd, signed_receipt }: Receipt, key: `0x${string}`): Promise<Check> {
  const check = "signature";
  if (signed_receipt === null) {
    return { check, result: "skipped", finding: "Nothing was charged to the balance, so there is no signed receipt." };
  }
  if (!(await isSignedBy(hexToBytes(key), signed_receipt))) {
    return { check, result: "fail", finding: "The receipt key did not sign this receipt." };
  }
  const { jti, cost_nano_usd } = readSignedReceipt(signed_receipt) ?? {};
  return jti === id && cost_nano_usd === charge_nano_usd
    ? { check, result: "pass", finding: `The receipt key signed a charge of ${charge_nano_usd} nano-dollars.` }
    : { check, result: "fail", finding: `The signed receipt is of ${jti}, with ${cost_nano_usd} nano-dollars.` };
}

function checkStatement({ settlement }: Receipt): Check {
  const check = "statement";
  const { statement, leaf, proof } = settlement ?? {};
  const root = statement?.root ?? null;
  if (root === null || !leaf || !proof) {
    return {
      check,
      result: "skipped",
      finding: "There is no proof of one use: no statement has it yet, or a large one.",
    };
  }
  return verifyProof(bytes(root), bytes(leaf), proof.map(bytes))
    ? { check, result: "pass", finding: `The statement with the root ${root} contains the charge.` }
    : { check, result: "fail", finding: `The proof does not lead to the root ${root}.` };
}

function bytes(hex: string): Uint8Array {
  return hexToBytes(hex as `0x${string}`);
}
