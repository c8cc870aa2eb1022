import type { ChatMessage } from "@inference/protocol/wire/chat";
import type { ResponsesItem, ResponsesPart } from "@inference/protocol/wire/responses";
import { loweredName } from "./responses-tools.ts";

type UserContent = Extract<ChatMessage, { role: "user" }>["content"];
type UserPart = Exclude<UserContent, string>[number];
type TextContent = string | { type: "text"; text: string }[];
/** What an assistant said in a turn. */
export type Assistant = {
  texts: string[];
  reasoning: string[];
  calls: { id: string; name: string; arguments: string }[];
};
type Built = ChatMessage | Assistant;

/** The chat messages of a conversation's items. */
export type ReadItems = { messages: ChatMessage[]; ignored: string[] };

/** @param openReasoning The text of a reasoning that was sealed here; null for any other. */
export type OpenReasoning = (sealed: string) => string | null;

/**
 * The messages of a chat request, made of the items of a conversation. Reasoning, texts and calls that follow one
 * another are one message of the assistant. The answers of tools follow their calls at once, because providers refuse
 * anything in between: what the assistant said there goes into its message, and other messages follow the answers.
 */
export function readItems(items: readonly ResponsesItem[], openReasoning: OpenReasoning): ReadItems {
  const built: Built[] = [];
  const ignored = new Set<string>();
  let assistant: Assistant | null = null;
  /** The calls that have no answer yet. */
  const unanswered = new Set<string>();
  /** The searches among them. */
  let searches: string[] = [];
  /** Messages that came while a call had no answer. */
  let later: ChatMessage[] = [];

  function assistantMessage(): Assistant {
    if (assistant !== null) return assistant;
    assistant = { texts: [], reasoning: [], calls: [] };
    built.push(assistant);
    return assistant;
  }

  function addCall(id: string, name: string, given: string): void {
    assistantMessage().calls.push({ id, name, arguments: given });
    unanswered.add(id);
  }

  function addAnswer(id: string, content: string | readonly ResponsesPart[]): void {
    const isAnswered = !unanswered.delete(id);
    const { text, images } = toolContent(content);
    built.push({ role: "tool", tool_call_id: id, content: text });
    if (images.length > 0) later.push({ role: "user", content: images });
    if (unanswered.size > 0 && !isAnswered) return;
    endTurn();
  }

  function endTurn(): void {
    assistant = null;
    unanswered.clear();
    searches = [];
    built.push(...later);
    later = [];
  }

  function nextSearch(): string {
    for (let id = searches.shift(); id !== undefined; id = searches.shift()) if (unanswered.has(id)) return id;
    return "search";
  }

  function addMessage(message: ChatMessage): void {
    if (unanswered.size > 0) {
      later.push(message);
      return;
    }
    assistant = null;
    built.push(message);
  }

  for (const [index, item] of items.entries()) {
    switch (item.type) {
      case "message":
        if (item.role === "assistant") assistantMessage().texts.push(joined(item.content));
        else if (item.role === "user") addMessage({ role: "user", content: userContent(item.content) });
        else addMessage({ role: "system", content: textContent(item.content) });
        break;
      case "reasoning": {
        const reasoning = openReasoning(item.encrypted_content ?? "");
        // It belongs to what follows.
        if (unanswered.size === 0) assistant = null;
        if (reasoning !== null) assistantMessage().reasoning.push(reasoning);
        break;
      }
      case "function_call":
        addCall(item.call_id, loweredName(item.name, item.namespace), item.arguments);
        break;
      case "custom_tool_call":
        addCall(item.call_id, loweredName(item.name, item.namespace), JSON.stringify({ input: item.input }));
        break;
      case "local_shell_call":
        addCall(item.call_id, "local_shell", JSON.stringify(item.action));
        break;
      case "tool_search_call": {
        const id = item.call_id ?? `search_${index}`;
        addCall(id, "tool_search", searchArguments(item.arguments));
        searches.push(id);
        break;
      }
      case "tool_search_output":
        addAnswer(item.call_id ?? nextSearch(), JSON.stringify({ tools: item.tools ?? [] }));
        break;
      case "function_call_output":
      case "custom_tool_call_output":
      case "local_shell_call_output":
        addAnswer(item.call_id, item.output);
        break;
      case "additional_tools":
        break;
      default:
        ignored.add(`input.${item.type}`);
    }
  }
  endTurn();
  const messages = built.flatMap((message) => ("texts" in message ? assistantSaid(message) : [message]));
  return { messages, ignored: [...ignored] };
}

/** The assistant's message of a turn. None if there is nothing in it but reasoning. */
export function assistantSaid({ texts, reasoning, calls }: Assistant): ChatMessage[] {
  if (texts.length === 0 && calls.length === 0) return [];
  const tool_calls = calls.map(({ id, name, arguments: given }) => {
    return { id, type: "function" as const, function: { name, arguments: given || "{}" } };
  });
  return [
    {
      role: "assistant",
      content: texts.length === 0 ? null : texts.join(""),
      reasoning_content: reasoning.length === 0 ? undefined : reasoning.join(""),
      tool_calls: calls.length === 0 ? undefined : tool_calls,
    },
  ];
}

function searchArguments(given: unknown): string {
  return typeof given === "string" ? given : JSON.stringify(given ?? {});
}

function partText(part: ResponsesPart): string[] {
  if ("text" in part) return [part.text];
  return "refusal" in part ? [part.refusal] : [];
}

function joined(content: string | readonly ResponsesPart[]): string {
  return typeof content === "string" ? content : content.flatMap(partText).join("");
}

function textContent(content: string | readonly ResponsesPart[]): TextContent {
  if (typeof content === "string") return content;
  const parts = content.flatMap(partText).map((text) => ({ type: "text" as const, text }));
  return parts.length === 1 ? (parts[0]?.text ?? "") : parts.length === 0 ? "" : parts;
}

function userContent(content: string | readonly ResponsesPart[]): UserContent {
  if (typeof content === "string" || content.every((part) => !isMedia(part))) return textContent(content);
  return content.flatMap(userPart);
}

function userPart(part: ResponsesPart): UserPart[] {
  if (part.type === "input_audio") return [{ type: "input_audio", input_audio: part.input_audio }];
  if (part.type !== "input_image") return partText(part).map((text) => ({ type: "text", text }));
  const { detail, image_url: url } = part;
  // Chat has no `original`.
  const known = detail === "original" ? "high" : detail;
  return [{ type: "image_url", image_url: { url, detail: known ?? undefined } }];
}

function isMedia({ type }: ResponsesPart): boolean {
  return type === "input_image" || type === "input_audio";
}

/** A tool answers with text. Its images follow in a message of the user. */
function toolContent(content: string | readonly ResponsesPart[]): { text: string; images: UserPart[] } {
  if (typeof content === "string") return { text: content, images: [] };
  return { text: joined(content), images: content.filter(isMedia).flatMap(userPart) };
}
