import type { ChatMessage } from "@inference/protocol/wire/chat";
import type { MessagesBlock, MessagesMessage } from "@inference/protocol/wire/messages";
import type { OpenReasoning } from "./responses-messages.ts";

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];
type TextPart = Extract<UserPart, { type: "text" }>;
type Shown = Extract<MessagesBlock, { type: "text" | "image" | "document" }>;
type Cached = { cache_control?: { type: string } | null | undefined };

/**
 * The messages of a chat request, made of those of the Messages API. The results of tools are messages of their own,
 * before the rest of the user's message that brings them.
 */
export function readMessagesOf(given: readonly MessagesMessage[], openReasoning: OpenReasoning): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const { role, content } of given) {
    const blocks: readonly MessagesBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (role === "assistant") messages.push(...assistantMessage(blocks, openReasoning));
    else if (role === "system") messages.push({ role, content: textContent(blocks.filter(isText)) });
    else messages.push(...userMessages(blocks));
  }
  return messages;
}

/** A text, or its parts where they say what to cache. */
export function textContent(content: string | readonly Extract<Shown, { type: "text" }>[]): string | TextPart[] {
  if (typeof content === "string") return content;
  const parts = content.map(({ text, ...block }) => textPart(text, block));
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first.cache_control === undefined ? first.text : parts;
}

function assistantMessage(blocks: readonly MessagesBlock[], openReasoning: OpenReasoning): ChatMessage[] {
  const said: string[] = [];
  const reasoning: string[] = [];
  const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  for (const block of blocks) {
    if (block.type === "text") said.push(block.text);
    else if (block.type === "thinking" && block.signature != null) {
      const thought = openReasoning(block.signature);
      if (thought !== null) reasoning.push(thought);
    } else if (block.type === "tool_use") {
      const { id, name, input } = block;
      calls.push({ id, type: "function", function: { name, arguments: JSON.stringify(input) } });
    }
  }
  if (said.length === 0 && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: said.length === 0 ? null : said.join(""),
      ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join("") }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function userMessages(blocks: readonly MessagesBlock[]): ChatMessage[] {
  const results: ChatMessage[] = [];
  const rest: UserPart[] = [];
  for (const block of blocks) {
    if (block.type === "tool_result") {
      const { tool_use_id, content, is_error } = block;
      const shown: readonly Shown[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
      const said = [is_error === true ? "Error: " : ""];
      for (const inner of shown) {
        if (inner.type === "image") rest.push(imagePart(inner));
        else said.push(shownText(inner));
      }
      results.push({ role: "tool", tool_call_id: tool_use_id, content: said.join("") });
    } else if (block.type === "image") rest.push(imagePart(block));
    else if (block.type === "text" || block.type === "document") rest.push(textPart(shownText(block), block));
  }
  if (rest.length === 0) return results;
  const [only] = rest;
  const isPlain = rest.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return [...results, { role: "user", content: isPlain ? only.text : rest }];
}

function shownText(block: Extract<Shown, { type: "text" | "document" }>): string {
  if (block.type === "text") return block.text;
  return block.title == null ? block.source.data : `${block.title}\n\n${block.source.data}`;
}

function textPart(text: string, block: Cached): TextPart {
  return { type: "text", text, ...cached(block) };
}

function imagePart(block: Extract<Shown, { type: "image" }>): UserPart {
  const { source } = block;
  const url = source.type === "url" ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: "image_url", image_url: { url }, ...cached(block) };
}

/** A longer life in the cache is not served: the usual one is asked for. */
function cached({ cache_control }: Cached): { cache_control?: { type: "ephemeral" } } {
  return cache_control == null ? {} : { cache_control: { type: "ephemeral" } };
}

function isText(block: MessagesBlock): block is Extract<Shown, { type: "text" }> {
  return block.type === "text";
}
