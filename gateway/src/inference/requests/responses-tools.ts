import { fail } from "@inference/protocol/errors";
import type { ChatRequest } from "@inference/protocol/wire/chat";
import { MAX_RESPONSES_TOOLS, type ResponsesRequest, type ResponsesTool } from "@inference/protocol/wire/responses";

type ChatTool = NonNullable<ChatRequest["tools"]>[number];
type FunctionTool = { name: string; description?: unknown; parameters?: unknown; strict?: unknown };

/** The client's tool behind a function of the chat request. Functions that kept their name are not listed. */
export type LoweredTools = ReadonlyMap<string, LoweredTool>;
type LoweredTool = { kind: "function" | "custom" | "tool_search"; name: string; namespace: string | null };

/** Its functions keep their names. */
const BARE_NAMESPACE = "functions";
const TOOL_SEARCH = "tool_search";
const CUSTOM_PARAMETERS = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};
const CUSTOM_NOTE = "\n\nPut the whole input of this tool, unchanged, into the one parameter `input`.";
const SEARCH_PARAMETERS = {
  type: "object",
  properties: { query: { type: "string" }, limit: { type: "integer" } },
  required: ["query"],
};

/** The name that a tool has as a function of a chat request. */
export function loweredName(name: string, namespace: string | null | undefined): string {
  return namespace == null || namespace === BARE_NAMESPACE ? name : `${namespace}__${name}`;
}

/** The functions of a chat request, made of the tools of the Responses API, and the dropped tools. */
export type ReadTools = { tools: ChatTool[]; lowered: LoweredTools; ignored: string[] };

export function readTools(given: readonly ResponsesTool[]): ReadTools {
  const tools = new Map<string, ChatTool>();
  const lowered = new Map<string, LoweredTool>();
  const ignored = new Set<string>();

  function add(name: string, tool: ChatTool, was: LoweredTool): void {
    const known = lowered.get(name) ?? { kind: "function", name, namespace: null };
    const isSame = known.kind === was.kind && known.namespace === was.namespace;
    // A tool may be sent again in a later turn. Two tools with one name could not be told apart in the answer.
    if (tools.has(name) && !isSame) {
      fail("invalid_request", `Two tools have the name \`${name}\`. Rename one of them.`, { param: "tools" });
    }
    tools.set(name, tool);
    if (was.kind !== "function" || was.namespace !== null) lowered.set(name, was);
    if (tools.size <= MAX_RESPONSES_TOOLS) return;
    fail("invalid_request", `There are more than ${MAX_RESPONSES_TOOLS} tools. Send fewer.`, { param: "tools" });
  }

  function readTool(tool: ResponsesTool, namespace: string | null): void {
    if ("tools" in tool) {
      for (const inner of tool.tools) readTool(inner, tool.name === BARE_NAMESPACE ? null : tool.name);
    } else if (tool.type === "function" && "name" in tool) {
      const name = loweredName(tool.name, namespace);
      add(name, functionTool({ ...tool, name }), { kind: "function", name: tool.name, namespace });
    } else if (tool.type === "custom" && "name" in tool) {
      const name = loweredName(tool.name, namespace);
      add(name, customTool(tool, name), { kind: "custom", name: tool.name, namespace });
    } else if (tool.type === "tool_search") {
      const { description, parameters } = tool as { description?: unknown; parameters?: unknown };
      const search = { name: TOOL_SEARCH, description, parameters: parameters ?? SEARCH_PARAMETERS };
      add(TOOL_SEARCH, functionTool(search), { kind: "tool_search", name: TOOL_SEARCH, namespace: null });
    } else ignored.add(`tools.${tool.type.slice(0, 64)}`);
  }

  for (const tool of given) readTool(tool, null);
  return { tools: [...tools.values()], lowered, ignored: [...ignored] };
}

type Choice = Pick<ChatRequest, "tools" | "tool_choice">;

/** The allowed tools, and the required one. A choice of a tool that was dropped is dropped. */
export function readToolChoice(choice: ResponsesRequest["tool_choice"], tools: ChatTool[], ignored: string[]): Choice {
  if (tools.length === 0) return {};
  if (choice === undefined) return { tools };
  if (typeof choice === "string") return { tools, tool_choice: choice };
  const isThere = (name: string): boolean => tools.some((tool) => tool.function.name === name);
  if (choice.type === "allowed_tools" && "tools" in choice) {
    const allowed = new Set(choice.tools.map(nameOf));
    const left = tools.filter((tool) => allowed.has(tool.function.name));
    return left.length === 0 ? {} : { tools: left, tool_choice: choice.mode ?? "auto" };
  }
  const name = nameOf(choice);
  if (isThere(name)) return { tools, tool_choice: { type: "function", function: { name } } };
  ignored.push("tool_choice");
  return { tools };
}

function nameOf(tool: { type: string; name?: unknown; namespace?: unknown }): string {
  if (typeof tool.name !== "string") return tool.type;
  return loweredName(tool.name, typeof tool.namespace === "string" ? tool.namespace : null);
}

function functionTool({ name, description, parameters, strict }: FunctionTool): ChatTool {
  return {
    type: "function",
    function: {
      name,
      description: typeof description === "string" ? description : undefined,
      parameters: (parameters ?? undefined) as Record<string, unknown> | undefined,
      strict: typeof strict === "boolean" ? strict : undefined,
    },
  };
}

/** A tool whose input is free text becomes a function of one string. Its grammar is shown to the model as text. */
function customTool(
  tool: { description?: string | null | undefined; format?: Record<string, unknown> | null | undefined },
  name: string,
): ChatTool {
  const { definition, syntax } = tool.format ?? {};
  const named = typeof syntax === "string" ? [" (", syntax, ")"] : [];
  const grammar = typeof definition === "string" ? ["\n\nThe input's grammar", ...named, ":\n", definition] : [];
  const description = [tool.description ?? "", CUSTOM_NOTE, ...grammar].join("");
  return { type: "function", function: { name, description, parameters: CUSTOM_PARAMETERS } };
}
