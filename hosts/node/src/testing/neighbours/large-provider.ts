import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { startProviderSimulator } from "@inference/provider-simulator/server";

/**
 * A provider that lists the simulator's models and answers at once, as large as the request asks: `[[mb=66]]`. A chat
 * without it is answered by two words; `[[flood=100000]]` is a stream of so many events.
 */
const simulator = await startProviderSimulator();
const { pathname } = new URL(simulator.url);
const made = new Map<string, Buffer>();

function madeOnce(name: string, make: () => string): Buffer {
  let bytes = made.get(name);
  if (bytes === undefined) {
    bytes = Buffer.from(make());
    made.set(name, bytes);
  }
  return bytes;
}

const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };
const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "sim-small" };
const event = (more: object): string => `data: ${JSON.stringify({ ...chunk, ...more })}\n\n`;
const token = event({ choices: [{ index: 0, delta: { content: "word " } }] });

function embeddings(mb: number): string {
  const vector = Array.from({ length: 3_072 }, (_, index) => Math.sin(index)).join(",");
  const count = Math.max(1, Math.round((mb * 1e6) / vector.length));
  const data = Array.from(
    { length: count },
    (_, index) => `{"object":"embedding","index":${index},"embedding":[${vector}]}`,
  );
  const used = '{"prompt_tokens":8,"total_tokens":8}';
  return `{"object":"list","model":"sim-embedding","data":[${data.join(",")}],"usage":${used}}`;
}

function images(mb: number): string {
  return JSON.stringify({ created: 1, data: [{ b64_json: "A".repeat(mb * 1e6) }] });
}

function chat(mb: number): string {
  const content = mb === 0 ? "two words" : "x".repeat(mb * 1e6);
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return JSON.stringify({ ...chunk, object: "chat.completion", choices, usage });
}

/** One large write in each turn of the event loop: the provider itself holds nobody up. */
let lastWrite: Promise<unknown> = Promise.resolve();
function turnToWrite(): Promise<unknown> {
  lastWrite = lastWrite.then(() => nextTurn());
  return lastWrite;
}

async function flood(response: ServerResponse, events: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const page = madeOnce("page", () => token.repeat(100));
  for (let sent = 0; sent < events && !response.destroyed; sent += 100) {
    await turnToWrite();
    if (!response.write(page)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end(`${event({ choices: [], usage: { ...usage, completion_tokens: events } })}data: [DONE]\n\n`);
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const part of request) chunks.push(part as Buffer);
  const path = request.url ?? "";
  const json = { "content-type": "application/json" };
  if (request.method === "GET") {
    response.writeHead(200, json).end(await (await fetch(new URL(path, simulator.url))).text());
    return;
  }
  const body = Buffer.concat(chunks).toString("latin1", 0, 4_096);
  const numberOf = (name: string): number => Number(new RegExp(`\\[\\[${name}=(\\d+)\\]\\]`).exec(body)?.[1] ?? 0);
  const mb = numberOf("mb");
  if (numberOf("flood") > 0) return flood(response, numberOf("flood"));
  const make = path.endsWith("/embeddings") ? embeddings : path.includes("image") ? images : chat;
  if (mb > 0) await turnToWrite();
  response.writeHead(200, json).end(madeOnce(`${make.name}${mb}`, () => make(mb)));
});
/** Large answers are made before the test, because making one delays all others. */
for (const mb of [4, 60]) madeOnce(`${embeddings.name}${mb}`, () => embeddings(mb));
madeOnce(`${images.name}20`, () => images(20));
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}\n`);
