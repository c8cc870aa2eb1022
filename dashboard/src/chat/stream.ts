import { ClientError, RefusedError } from "@inference/sdk/errors";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { gateway, gatewayRequest } from "../gateway.ts";
import type { Usage } from "./chats.ts";
import type { ChatBody } from "./request.ts";

/** A part of an answer. The first has the receipt's id. */
export type Part = {
  receipt?: string;
  text?: string;
  reasoning?: string;
  finish?: string;
  usage?: Usage;
};

type Chunk = {
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; cost_nano_usd: number } | null;
  error?: { message: string };
};

/**
 * Sends a chat request and yields the parts of its answer. Throws `RefusedError` if the gateway refuses the request, and
 * `ClientError` if the answer breaks off; an aborted request throws what the signal says.
 */
export async function* streamChat(body: ChatBody, key: string, signal: AbortSignal): AsyncGenerator<Part> {
  const response = await gateway.fetch(`${gateway.gateway}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    redirect: "error",
    signal,
  });
  if (!response.ok || response.body === null) throw await errorOf(response);
  yield { receipt: response.headers.get("x-request-id") ?? "" };
  const events = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream());
  const reader = events.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ClientError("unreachable", "The answer broke off.");
    if (value.data === "[DONE]") return;
    const { choices, usage, error } = JSON.parse(value.data) as Chunk;
    if (error !== undefined) throw new ClientError("unreachable", error.message);
    const [choice] = choices ?? [];
    const part: Part = {};
    if (choice?.delta?.content) part.text = choice.delta.content;
    if (choice?.delta?.reasoning_content) part.reasoning = choice.delta.reasoning_content;
    if (choice?.finish_reason) part.finish = choice.finish_reason;
    if (usage) {
      part.usage = { input: usage.prompt_tokens, output: usage.completion_tokens, nanoUsd: usage.cost_nano_usd };
    }
    yield part;
  }
}

async function errorOf(response: Response): Promise<Error> {
  const text = await response.text();
  try {
    return new RefusedError(JSON.parse(text) as ConstructorParameters<typeof RefusedError>[0], response);
  } catch {
    return new ClientError("unreachable", `The service answered ${response.status}, and not as a gateway does.`);
  }
}

type Receipt = {
  charge_nano_usd: number;
  tokens_prompt: number | null;
  tokens_completion: number | null;
};

/** The usage by the receipt of an answer that did not say it. A request has a receipt as soon as it has ended. */
export async function usageByReceipt(id: string, key: string): Promise<Usage> {
  const { data } = await gatewayRequest<{ data: Receipt }>("/api/v1/generation", { bearer: key, query: { id } });
  return { input: data.tokens_prompt ?? 0, output: data.tokens_completion ?? 0, nanoUsd: data.charge_nano_usd };
}
