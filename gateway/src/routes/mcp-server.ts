import { errorBody } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { RECEIPT_HEADER } from "@inference/protocol/signed-receipt";
import { limits } from "../config.ts";
import { apiInfo } from "../docs/openapi.ts";
import { UpstreamFailure } from "../environment.ts";
import type { App, GatewayContext } from "../http/context.ts";
import { errorResponse } from "../http/errors.ts";
import { readBytes } from "../upstream/provider.ts";
import { listTools, type McpTool, mcpTools, requestOf } from "./mcp-tools.ts";

/** An answer above this size is no tool's result. A model could not read it. */
const MAX_RESULT_BYTES = limits.gatheredAnswerBytes;

const instructions =
  "Inference, paid from the prepaid balance of an API key. Ask `models` for a model, `quote` for the most that a request " +
  "can cost, then `chat` with `max_tokens`. `receipt` has the exact cost of an answer by its id.";

/**
 * Answers one message with a server of its own: nothing is kept between two messages. Clients of the protocol's
 * version of 2026-07-28 and of those before it are served.
 */
export async function answerMcp(context: GatewayContext, message: unknown, app: App): Promise<Response> {
  const sdk = await context.get("gateway").environment.mcpSdk();
  const request = context.req.raw;

  function makeServer() {
    const { title: name, version } = apiInfo;
    const server = new sdk.Server(
      { name, version },
      { capabilities: { tools: {} }, instructions, jsonSchemaValidator: validatesNothing },
    );
    server.setRequestHandler("tools/list", () => ({ tools: listTools() }));
    server.setRequestHandler("tools/call", async ({ params }) => {
      const tool = ownValue(mcpTools, params.name);
      if (tool !== undefined) return callTool(context, app, tool, params.arguments ?? {});
      const names = Object.keys(mcpTools).join(", ");
      throw new sdk.ProtocolError(
        sdk.ProtocolErrorCode.InvalidParams,
        `There is no tool of this name. There are: ${names}.`,
      );
    });
    return server;
  }

  if (!(await sdk.isLegacyRequest(request, message))) {
    // A subscription would be a stream without an end, and nothing here changes.
    const handler = sdk.createMcpHandler(makeServer, { legacy: "reject", maxSubscriptions: 0 });
    return handler.fetch(request, { parsedBody: message });
  }
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await makeServer().connect(transport);
  return transport.handleRequest(request, { parsedBody: message });
}

/** The endpoint checks the arguments. The server's own validator would be made for each message. */
const validatesNothing = {
  getValidator(): never {
    throw new TypeError("no schema is validated here");
  },
};

type ToolResult = {
  content: { type: "text"; text: string }[];
  isError?: boolean;
  _meta?: Record<string, string>;
};

/** Sends the request of a tool through the whole gateway, as if the client had sent it. */
async function callTool(
  context: GatewayContext,
  app: App,
  tool: McpTool,
  given: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  try {
    const request = requestOf(tool, given, context.req.raw);
    if (typeof request === "string") return refused(request);
    const response = await app.fetch(request, { peerAddress: context.env?.peerAddress });
    const text = await textOf(response);
    if (text === undefined) return refused(tooLarge(response, tool));
    if (!response.ok) return { ...result(text), isError: true };
    const { judge } = tool;
    return judge === undefined
      ? result(text, response)
      : result(JSON.stringify(await judge(context, JSON.parse(text))));
  } catch (error) {
    return { ...result(await errorResponse(context, error).text()), isError: true };
  }
}

function tooLarge({ headers }: Response, { endpoint }: McpTool): string {
  const id = headers.get("x-request-id");
  const receipt = endpoint.metered === undefined ? "" : ` What was charged for it: \`receipt\` of ${id}.`;
  return `The answer is larger than ${MAX_RESULT_BYTES} bytes. Ask for less, or use ${endpoint.path}.${receipt}`;
}

function refused(message: string): ToolResult {
  return { ...result(JSON.stringify(errorBody({ code: "invalid_request", message }))), isError: true };
}

/** @param response Its request id and signed receipt are told to programs. */
function result(text: string, response?: Response): ToolResult {
  const names = ["x-request-id", RECEIPT_HEADER, "x-ignored-parameters"];
  const told = names.flatMap((name): [string, string][] => {
    const value = response?.headers.get(name) ?? null;
    return value === null ? [] : [[name, value]];
  });
  const content = [{ type: "text" as const, text }];
  return told.length === 0 ? { content } : { content, _meta: Object.fromEntries(told) };
}

/** Undefined above the maximum: the rest is not read, as if the client had left. */
async function textOf({ body }: Response): Promise<string | undefined> {
  if (body === null) return "";
  try {
    return new TextDecoder().decode(await readBytes(body as AsyncIterable<Uint8Array>, MAX_RESULT_BYTES));
  } catch (error) {
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}
