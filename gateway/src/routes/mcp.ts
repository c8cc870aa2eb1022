import * as z from "zod";
import { joinBytes } from "../bytes.ts";
import { limits } from "../config.ts";
import { json, ok } from "../docs/operation.ts";
import { readBody, readSmall } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import { presentedCredential } from "../http/credential.ts";
import { parseJsonBody } from "../http/json/parse-json-body.ts";
import { validate } from "../http/json/validate.ts";
import { CredentialProof } from "../inference/admission/sender-proof.ts";
import { endpoint } from "./endpoint.ts";
import { authenticatedErrors } from "./endpoint-errors.ts";
import { answerMcp } from "./mcp-server.ts";

/** One message. Batches left the protocol in its version of June 2025. */
const mcpMessage = z.looseObject({
  jsonrpc: z.literal("2.0"),
  method: z.string().min(1),
  id: z.union([z.string(), z.number()]).optional().describe("Absent in a notification, which is answered with 202."),
  params: z.looseObject({}).optional(),
});

const mcpAnswer = z.looseObject({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number(), z.null()]) });

export const postMcp = endpoint({
  method: "POST",
  path: "/mcp",
  id: "postMcp",
  group: "Operation",
  title: "The Model Context Protocol",
  about:
    "A stateless server (Streamable HTTP) with the tools `models`, `prices`, `quote`, `credits`, `spending`, " +
    "`receipt`, `verify` and `chat`. Each is an endpoint of this API under the same key: `chat` is charged as " +
    "`POST /v1/chat/completions` is, and has a receipt. A refusal is a tool's error with the API's error object.",
  body: { name: "McpMessage", schema: mcpMessage },
  answers: [ok("The message that answers.", json("McpAnswer", mcpAnswer))],
  errors: authenticatedErrors,
  async handle(context, _endpoints, app) {
    const message = await readMessage(context);
    return answerMcp(context, message, app);
  },
});

/** A key must be valid if it is sent, as at GET /models. A message without a key must be small. */
async function readMessage(context: GatewayContext): Promise<unknown> {
  const credential = presentedCredential(context);
  if (credential === undefined) return readSmall(context, mcpMessage);
  context.set("credential", credential);
  const proof = new CredentialProof(context, credential);
  await proof.prove();
  const bytes = joinBytes(await readBody(context, limits.wholeBodyBytes, proof));
  if (bytes.length <= limits.parsedBodyBytes) return parse(bytes);
  return context.get("gateway").turns.run(credential.partition, () => parse(bytes));
}

function parse(bytes: Uint8Array): unknown {
  return validate(mcpMessage, parseJsonBody(bytes));
}
