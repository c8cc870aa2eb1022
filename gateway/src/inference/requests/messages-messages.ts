import type { ChatMessage } from "@inference/protocol/wire/chat";
import type { MessagesBlock, MessagesMessage } from "@inference/protocol/wire/messages";
import { MAX_SEALED_CHARACTERS } from "../reasoning-seal.ts";
import type { MadeTexts } from "./made-texts.ts";
import type { OpenReasoning } from "./responses-messages.ts";

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];
type TextPart = Extract<UserPart, { type: "text" }>;
type Shown = Extract<MessagesBlock, { type: "text" | "image" | "document" }>;
type Cached = { cache_control?: { type: string } | null | undefined };

/**
 * The messages of a chat request, made of those of the Messages API. The results of tools are messages of their own,
 * before the rest of the user's message that brings them.
 */
export function* readMessagesOf(
  given: readonly MessagesMessage[],
  texts: MadeTexts,
  openReasoning: OpenReasoning,
): Generator<void, ChatMessage[]> {
  const messages: ChatMessage[] = [];
  for (const { role, content } of given) {
    const blocks: readonly MessagesBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (role === "assistant") messages.push(...(yield* assistantMessage(blocks, texts, openReasoning)));
    else if (role === "system") messages.push({ role, content: textContent(blocks.filter(isText)) });
    else messages.push(...(yield* userMessages(blocks, texts)));
    yield* texts.rest();
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

function* assistantMessage(
  blocks: readonly MessagesBlock[],
  texts: MadeTexts,
  openReasoning: OpenReasoning,
): Generator<void, ChatMessage[]> {
  const said: string[] = [];
  const reasoning: string[] = [];
  const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  for (const block of blocks) {
    if (block.type === "text") said.push(block.text);
    else if (block.type === "thinking" && block.signature != null) {
      const sealed = texts.read(block.signature, MAX_SEALED_CHARACTERS);
      const thought = sealed === null ? null : openReasoning(sealed);
      if (thought !== null) reasoning.push(texts.keep(thought));
    } else if (block.type === "tool_use") {
      const { id, name, input } = block;
      const given = yield* texts.quote(JSON.stringify(input));
      calls.push({ id, type: "function", function: { name, arguments: given } });
    }
    yield* texts.rest();
  }
  if (said.length === 0 && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: said.length === 0 ? null : texts.join(said),
      ...(reasoning.length === 0 ? {} : { reasoning_content: texts.join(reasoning) }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function* userMessages(blocks: readonly MessagesBlock[], texts: MadeTexts): Generator<void, ChatMessage[]> {
  const results: ChatMessage[] = [];
  const rest: UserPart[] = [];
  for (const block of blocks) {
    if (block.type === "tool_result") {
      const { tool_use_id, content, is_error } = block;
      const shown: readonly Shown[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
      const said = [is_error === true ? "Error: " : ""];
      for (const inner of shown) {
        if (inner.type === "image") rest.push(imagePart(inner, texts));
        else said.push(shownText(inner, texts));
        yield* texts.rest();
      }
      results.push({ role: "tool", tool_call_id: tool_use_id, content: texts.join(said) });
    } else if (block.type === "image") rest.push(imagePart(block, texts));
    else if (block.type === "text" || block.type === "document") rest.push(textPart(shownText(block, texts), block));
    yield* texts.rest();
  }
  if (rest.length === 0) return results;
  const [only] = rest;
  const isPlain = rest.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return [...results, { role: "user", content: isPlain ? only.text : rest }];
}

function shownText(block: Extract<Shown, { type: "text" | "document" }>, texts: MadeTexts): string {
  if (block.type === "text") return block.text;
  return block.title == null ? block.source.data : texts.join([block.title, "\n\n", block.source.data]);
}

function textPart(text: string, block: Cached): TextPart {
  return { type: "text", text, ...cached(block) };
}

function imagePart(block: Extract<Shown, { type: "image" }>, texts: MadeTexts): UserPart {
  const { source } = block;
  const url = source.type === "url" ? source.url : texts.join([`data:${source.media_type};base64,`, source.data]);
  return { type: "image_url", image_url: { url }, ...cached(block) };
}

/** A longer life in the cache is not served: the usual one is asked for. */
function cached({ cache_control }: Cached): { cache_control?: { type: "ephemeral" } } {
  return cache_control == null ? {} : { cache_control: { type: "ephemeral" } };
}

function isText(block: MessagesBlock): block is Extract<Shown, { type: "text" }> {
  return block.type === "text";
}
