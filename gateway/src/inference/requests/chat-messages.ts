import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import type { ChatMessage } from "@inference/protocol/wire/chat";
import { asObject } from "../../json-object.ts";
import { isEmptyList } from "./sort-fields.ts";

type Assistant = Extract<ChatMessage, { role: "assistant" }>;
type ChatMessages = {
  /** The messages as they are sent. */
  messages: object[];
  /** The provider fetches or extracts some part, so the number of its tokens is unknown here. */
  fetched: boolean;
  ignored: string[];
};

/**
 * Checks the rules that a schema cannot state: the model takes the parts, and each assistant message has content.
 *
 * @param field The client's field that the messages were made of, if it has none of that name.
 */
export function readMessages(messages: readonly ChatMessage[], model: Model, field?: string): ChatMessages {
  const ignored = new Set<string>();
  let fetched = false;
  const sent = messages.map((message, index) => {
    if (message.cache_control != null) ignored.add("messages.cache_control");
    if (message.role === "assistant") return assistantMessage(message, index, ignored);
    if (message.role === "user" && typeof message.content !== "string") {
      fetched =
        checkParts(message.content, model, (at) => field ?? `messages[${index}].content[${at}].type`) || fetched;
    }
    if (message.cache_control === undefined) return message;
    const { cache_control: _, ...rest } = message;
    return rest;
  });
  return { messages: sent, fetched, ignored: [...ignored] };
}

/** Drops fields that only answers have, and nulls, except for the content of a message that only calls tools. */
function assistantMessage(message: Assistant, index: number, ignored: Set<string>): object {
  const { role, content, name, tool_calls: calls, reasoning_content, reasoning_details, refusal } = message;
  const { extra_content } = message;
  if ((content ?? null) === null && (calls ?? []).length === 0) {
    const param = `messages[${index}].content`;
    fail("invalid_request", `\`${param}\` is missing: an assistant's message needs \`content\` or \`tool_calls\`.`, {
      param,
    });
  }
  if (message.annotations?.length) ignored.add("messages.annotations");
  if (message.reasoning) ignored.add("messages.reasoning");
  if (refusal) ignored.add("messages.refusal");
  return {
    role,
    content: content ?? null,
    name: name ?? undefined,
    tool_calls: calls == null || calls.length === 0 ? undefined : calls.map(sentCall),
    reasoning_content: reasoning_content ?? undefined,
    reasoning_details: reasoning_details ?? undefined,
    extra_content: extra_content ?? undefined,
  };
}

type Call = NonNullable<Assistant["tool_calls"]>[number];

function sentCall({ index: _, extra_content, ...call }: Call): object {
  return { ...call, extra_content: extra_content ?? undefined };
}

/** Members of messages that hold a part of what is said, in the shape of other APIs. */
const CONTENT = new Set(["attachments", "audio", "documents", "files", "function_call", "images", "videos"]);

/**
 * The members of messages and calls that the schema has not. They are dropped, because clients keep data of their own
 * in them. Throws for one that holds content.
 */
export function unknownMembers(given: unknown, messages: readonly ChatMessage[]): string[] {
  const names = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const sent = asObject(listOf(given)[index]) ?? {};
    for (const name of Object.keys(sent)) {
      if (Object.hasOwn(message, name) || sent[name] == null) continue;
      if (CONTENT.has(name) && !isEmptyList(sent[name])) refuseContent(`messages[${index}].${name.slice(0, MAX_NAME)}`);
      names.add(`messages.${name.slice(0, MAX_NAME)}`);
    }
    for (const call of listOf(sent.tool_calls)) {
      for (const name of Object.keys(asObject(call) ?? {})) {
        if (!CALL_MEMBERS.has(name)) names.add(`messages.tool_calls.${name.slice(0, MAX_NAME)}`);
      }
    }
  }
  return [...names];
}

const MAX_NAME = 64;
const CALL_MEMBERS = new Set(["id", "type", "function", "index", "extra_content"]);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function refuseContent(param: string): never {
  fail("unsupported_parameter", `\`${param}\` is not read. Send it as a part of \`content\`, or as text.`, { param });
}

type Parts = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>;

const needs = {
  image_url: { feature: "supportsVision", noun: "images" },
  input_audio: { feature: "supportsAudio", noun: "audio" },
  video_url: { feature: "supportsVideo", noun: "video" },
} as const;

function checkParts(parts: Parts, model: Model, paramOf: (index: number) => string): boolean {
  let fetched = false;
  for (const [index, part] of parts.entries()) {
    if (part.type === "text") continue;
    fetched = true;
    const { feature, noun } = needs[part.type];
    if (model.features[feature] !== true) {
      const message = `\`${model.id}\` does not take ${noun}. Use a model that does, or send text.`;
      fail("unsupported_parameter", message, { param: paramOf(index) });
    }
  }
  return fetched;
}
