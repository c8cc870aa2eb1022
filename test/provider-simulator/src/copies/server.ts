import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Body, Counts, ErrorCause, ProviderCopy } from "./copy.ts";

/** A running copy. Its key for administrators is `<key>-admin`. */
export type CopyServer = {
  url: string;
  /** The paid requests so far: their bodies and keys. */
  requests: { path: string; body: Body; bytes: number; authorization: string | undefined }[];
  /** Answers chat requests from now on in the place of the copy; null: the copy answers again. */
  script(answer: ((request: { text: string; isStream: boolean }) => ScriptedAnswer) | null): void;
  close(): Promise<void>;
};

type ScriptedAnswer = { type: string; body: string };

/** Tokens of an answer without a limit. */
const USUAL_TOKENS = 40;

export async function startCopy(copy: ProviderCopy, key: string): Promise<CopyServer> {
  const requests: CopyServer["requests"] = [];
  let script: Parameters<CopyServer["script"]>[0] = null;
  const server = createServer(async (request, response) => {
    const path = (request.url ?? "").replace(copy.basePath, "").replace(/\?.*/, "");
    if (request.method === "GET" && path === copy.billing?.path) {
      if (request.headers.authorization !== `Bearer ${key}-admin`) return void fail(copy, response, "denied");
      const { searchParams } = new URL(request.url ?? "", "http://copy");
      return void send(response, 200, copy.billing.answer(searchParams));
    }
    if (request.method === "GET") return void send(response, path === "/models" ? 200 : 404, copy.catalogue);
    const text = await textOf(request);
    const body = JSON.parse(text) as Body;
    const { authorization } = request.headers;
    if (copy.hasKey && authorization !== `Bearer ${key}`) return void fail(copy, response, "denied");
    // The gateway's own question about its key has no model.
    if (body.model === undefined) return void fail(copy, response, "invalid");
    requests.push({ path, body, bytes: Buffer.byteLength(text), authorization });
    const [, cause] = /\[\[(\w+)\]\]/.exec(text) ?? [];
    if (cause !== undefined) return void fail(copy, response, cause as ErrorCause);
    const unknown = Object.keys(body).find(
      (field) => path === "/chat/completions" && copy.fields?.includes(field) === false,
    );
    if (unknown !== undefined) return void fail(copy, response, "invalid");
    const other = copy.others?.[path]?.(body);
    if (other !== undefined) {
      response.writeHead(200, { "content-type": other.type ?? "application/json", ...other.headers });
      return void response.end(other.body);
    }
    if (path !== "/chat/completions") return void send(response, 404, {});
    const answer = script?.({ text, isStream: body.stream === true }) ?? chatAnswer(copy, body, text);
    response.writeHead(200, { "content-type": answer.type });
    response.end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${copy.basePath}`,
    requests,
    script(answer) {
      script = answer;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function fail(copy: ProviderCopy, response: ServerResponse, cause: ErrorCause): void {
  const { status, headers = {}, body } = copy.errors[cause] ?? { status: 500, body: { error: `no ${cause}` } };
  send(response, status, body, headers);
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function chatAnswer(copy: ProviderCopy, body: Body, text: string): { type: string; body: string } {
  const limit = copy.limitFields.map((field) => body[field]).find((value) => typeof value === "number");
  const completion = Math.min(USUAL_TOKENS, Number(limit ?? USUAL_TOKENS));
  const prompt = Math.ceil(text.length / 16) + (copy.hiddenTokens?.(body) ?? 0);
  const words = Array.from({ length: completion }, (_, index) => `w${index} `);
  const finish = completion < USUAL_TOKENS ? "length" : "stop";
  const counts = { prompt, completion };
  const { model } = body;
  if (body.stream !== true) return whole(copy, { model, text: words.join(""), finish, counts });
  const chunks = words.map((content) => ({ delta: { content }, finish_reason: null }));
  return stream(copy, { model, choices: [...chunks, { delta: {}, finish_reason: finish }], counts });
}

type Whole = { model: unknown; text: string; finish: string; counts: Counts };

function whole(copy: ProviderCopy, { model, text, finish, counts }: Whole): { type: string; body: string } {
  const message = { role: "assistant", content: text };
  const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
  const head = { id: "chatcmpl-copy", object: "chat.completion", created: 1_790_000_000, model };
  const answer = { ...head, choices, usage: copy.usage(counts), ...copy.beside?.(counts) };
  return { type: "application/json", body: JSON.stringify(answer) };
}

type Stream = { model: unknown; choices: object[]; counts: Counts };

function stream(copy: ProviderCopy, { model, choices, counts }: Stream): { type: string; body: string } {
  const head = { id: "chatcmpl-copy", object: "chat.completion.chunk", created: 1_790_000_000, model };
  const events = [
    ...choices.map((choice) => ({ ...head, choices: [{ index: 0, ...choice }], ...copy.inChunks })),
    { ...head, choices: [], usage: copy.usage(counts), ...copy.beside?.(counts) },
  ];
  const lines = [...events.map((event) => `data: ${JSON.stringify(event)}`), "data: [DONE]"];
  return { type: "text/event-stream", body: `${[...(copy.comment ? [copy.comment] : []), ...lines].join("\n\n")}\n\n` };
}
