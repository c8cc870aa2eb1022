import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import type { ChatMessage } from "@inference/protocol/wire/chat";

type Assistant = Extract<ChatMessage, { role: "assistant" }>;
type ChatMessages = {
  /** The messages as they are sent. */
  messages: object[];
  /** The provider fetches or extracts some part, so the number of its tokens is unknown here. */
  fetched: boolean;
  ignored: string[];
};

/**
 * Checks what the schema cannot: that the model takes the parts, and that no assistant message is empty.
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
    ...(name == null ? {} : { name }),
    ...(calls == null || calls.length === 0 ? {} : { tool_calls: calls.map(({ index: _, ...call }) => call) }),
    ...(reasoning_content == null ? {} : { reasoning_content }),
    ...(reasoning_details == null ? {} : { reasoning_details }),
  };
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
