import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { floodModel, longContentEvents, longModel, pacedModel, paceMs, streamContentEvents } from "./load-plan.ts";

// The upstream every target is measured against: the same answer to everybody, made once, so that what it costs is
// mostly the socket's. It prints its origin when it listens.

const usage = { prompt_tokens: 24, completion_tokens: streamContentEvents, total_tokens: 24 + streamContentEvents };
const common = { id: "chatcmpl-bench", created: 1_700_000_000, model: floodModel };

const words = "The tide comes in twice a day, and twice a day it leaves what nobody had asked it for. ";
const completion = Buffer.from(
  JSON.stringify({
    ...common,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        finish_reason: "stop",
        logprobs: null,
        message: { role: "assistant", content: words.repeat(10), reasoning_content: null },
      },
    ],
    usage,
  }),
);

/** Each names the model that was asked: the gateway writes an alert about another one. */
const lengths = {
  [floodModel]: streamContentEvents,
  [pacedModel]: streamContentEvents,
  [longModel]: longContentEvents,
};
const eventsOf = Object.fromEntries(
  Object.entries(lengths).map(([model, length]) => {
    const event = { ...common, model, object: "chat.completion.chunk" };
    const events = [
      ...Array.from({ length }, (_, index) => {
        const delta = index === 0 ? { role: "assistant", content: "The" } : { content: ` w${index}` };
        const finish_reason = index === length - 1 ? "stop" : null;
        return { ...event, choices: [{ index: 0, delta, finish_reason, logprobs: null }] };
      }),
      { ...event, choices: [], usage },
      "[DONE]",
    ];
    return [
      model,
      events.map((event) => chunk(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)),
    ];
  }),
) as Record<string, Buffer[]>;

/** In HTTP's chunked framing already, which is the same every time. */
function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

const price = (usd: number) => ({ usd, diem: usd });
const model = (id: string) => ({
  id,
  object: "model",
  type: "text",
  owned_by: "bench",
  created: common.created,
  context_length: 131_072,
  model_spec: {
    name: id,
    description: "Answers everybody the same.",
    privacy: "private",
    offline: false,
    traits: [],
    availableContextTokens: 131_072,
    maxCompletionTokens: 8_192,
    pricing: { input: price(0.15), output: price(0.6) },
    capabilities: {
      optimizedForCode: false,
      quantization: "fp8",
      supportsAudioInput: false,
      supportsE2EE: false,
      supportsFunctionCalling: true,
      supportsLogProbs: false,
      supportsMultipleImages: false,
      supportsReasoning: false,
      supportsReasoningEffort: false,
      supportsResponseSchema: true,
      supportsTeeAttestation: false,
      supportsVideoInput: false,
      supportsVision: false,
      supportsWebSearch: false,
      supportsXSearch: false,
    },
    constraints: { temperature: { default: 0.7 }, top_p: { default: 0.9 } },
  },
});

const catalogue = Buffer.from(JSON.stringify({ object: "list", type: "text", data: Object.keys(lengths).map(model) }));

const json = (body: Buffer) => ({ "content-type": "application/json", "content-length": body.length });
const eventStream = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/**
 * One event a write and a turn of the loop between them, so that they are separate chunks, as a provider's are. The
 * framed events go to the socket directly: through `response.write` the upstream would be slower than a proxy.
 */
function stream(response: ServerResponse, socket: Socket, model: string): void {
  response.writeHead(200, eventStream).flushHeaders();
  const events = eventsOf[model] ?? [];
  const paced = model !== floodModel;
  let next = 0;
  const step = (): void => {
    if (socket.destroyed) return;
    const event = events[next];
    next += 1;
    if (event === undefined) response.end();
    else if (!socket.write(event)) socket.once("drain", step);
    else if (paced) setTimeout(step, paceMs);
    else setImmediate(step);
  };
  step();
}

const server = createServer((request, response) => {
  const path = request.url ?? "";
  if (request.method === "GET" && path.startsWith("/api/v1/models")) {
    request.resume();
    response.writeHead(200, json(catalogue)).end(catalogue);
    return;
  }
  if (request.method !== "POST" || path !== "/api/v1/chat/completions") {
    request.resume();
    response.writeHead(404, { "content-length": 0 }).end();
    return;
  }
  let streamed = false;
  let model: string = floodModel;
  // Every target writes its body with JSON.stringify, and one for a stream is shorter than one read of the socket.
  request.on("data", (bytes: Buffer) => {
    streamed ||= bytes.includes('"stream":true');
    for (const other of [pacedModel, longModel]) if (bytes.includes(other)) model = other;
  });
  request.on("end", () => {
    if (streamed) stream(response, request.socket, model);
    else response.writeHead(200, json(completion)).end(completion);
  });
});
// Never the one to close an idle connection: that race is not what is measured.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", 4096, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
