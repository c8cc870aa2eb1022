import { ClientError, type Connection, RefusedError } from "@inference/sdk";

export type ChatChunk = {
  id?: string;
  model?: string;
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; cost_nano_usd: number; receipt?: string } | null;
  error?: { message: string; code?: string };
};

/** Sends a chat request and yields its chunks. The first value is the id of the receipt. Throws `RefusedError`. */
export async function* streamChat(
  { fetch, gateway, apiKey }: Connection & { apiKey: string },
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): AsyncGenerator<{ receipt: string } | ChatChunk> {
  const response = await fetch(`${gateway}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    ...{ redirect: "error", signal },
  }).catch((error: unknown) => {
    throw new ClientError("unreachable", `${gateway} does not answer. Check the gateway's URL.`, error);
  });
  if (!response.ok || response.body === null) throw await errorOf(response);
  if (!/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "")) {
    await response.body.cancel();
    throw new ClientError("unreachable", `${gateway} did not answer as a gateway does. Check the gateway's URL.`);
  }
  yield { receipt: response.headers.get("x-request-id") ?? "" };
  for await (const line of linesOf(response.body)) {
    if (line === "data: [DONE]") return;
    if (line.startsWith("data: ")) yield chunkOf(line.slice(6));
  }
  throw brokeOff();
}

function chunkOf(text: string): ChatChunk {
  try {
    const chunk = JSON.parse(text) as ChatChunk | null;
    if (typeof chunk === "object" && chunk !== null) return chunk;
  } catch {}
  throw brokeOff();
}

function brokeOff(error?: unknown): ClientError {
  return new ClientError("unreachable", "The answer broke off. `infer receipt` shows what it cost.", error);
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw brokeOff(error);
    });
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.map((line) => line.replace(/\r$/, ""));
  }
}

async function errorOf(response: Response): Promise<Error> {
  const text = await response.text();
  try {
    return new RefusedError(JSON.parse(text) as ConstructorParameters<typeof RefusedError>[0], response);
  } catch {
    return new ClientError("unreachable", `The gateway answered ${response.status}, and not as a gateway does.`);
  }
}
