import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Connection } from "./connection.ts";
import { ClientError } from "./errors.ts";
import { refusalOf } from "./request.ts";

/** A part of a streamed answer. The first has the receipt's id alone. */
export type ChatPart = {
  receipt?: string;
  model?: string | undefined;
  text?: string;
  reasoning?: string;
  finish?: string | undefined;
  usage?: ChatUsage | undefined;
  /** The signed receipt. */
  signed?: string | undefined;
};

/** An answer's tokens and charge. */
export type ChatUsage = { input: number; output: number; nanoUsd: number };

type Chunk = {
  model?: string;
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; cost_nano_usd: number; receipt?: string } | null;
  error?: { message: string };
};

/**
 * Sends a chat request with an API key and yields the parts of its answer, as the command line and the dashboard show
 * it. Throws `RefusedError`, and `ClientError` `unreachable` for an answer that breaks off.
 */
export async function* streamChat(
  { fetch, gateway }: Connection,
  { apiKey, body, signal }: { apiKey: string; body: object; signal: AbortSignal },
): AsyncGenerator<ChatPart> {
  const url = `${gateway}/api/v1/chat/completions`;
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    ...{ redirect: "error", signal },
  }).catch((error: unknown) => {
    throw new ClientError("unreachable", `${gateway} does not answer. Check the gateway's URL.`, error);
  });
  if (!response.ok || response.body === null) throw refusalOf(url, response, await response.text());
  if (!/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "")) {
    await response.body.cancel();
    throw new ClientError("unreachable", `${gateway} did not answer as a gateway does. Check the gateway's URL.`);
  }
  yield { receipt: response.headers.get("x-request-id") ?? "" };
  const events = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream());
  const reader = events.getReader();
  for (;;) {
    const { value } = await reader.read().catch(brokeOff);
    if (value === undefined) return brokeOff();
    if (value.data === "[DONE]") return;
    const chunk = chunkOf(value.data);
    if (chunk.error !== undefined) throw new ClientError("unreachable", `The answer broke off: ${chunk.error.message}`);
    yield partOf(chunk);
  }
}

function partOf({ model, choices, usage }: Chunk): ChatPart {
  const { delta, finish_reason: finish } = choices?.[0] ?? {};
  return {
    ...{ model, text: delta?.content ?? "", reasoning: delta?.reasoning_content ?? "", finish: finish ?? undefined },
    signed: usage?.receipt,
    usage: usage
      ? { input: usage.prompt_tokens, output: usage.completion_tokens, nanoUsd: usage.cost_nano_usd }
      : undefined,
  };
}

function chunkOf(text: string): Chunk {
  try {
    const chunk = JSON.parse(text) as Chunk | null;
    if (typeof chunk === "object" && chunk !== null) return chunk;
  } catch {}
  return brokeOff();
}

function brokeOff(error?: unknown): never {
  throw new ClientError("unreachable", "The answer broke off.", error);
}
