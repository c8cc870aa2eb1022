import { eventsOf } from "../exchange.ts";
import { type Ask, type Calls, type Failure, type Said, tool, voice } from "./client.ts";

/** A client without a library: it sends requests, and reads the answers as the reference describes them. */
type Send = (request: PlainRequest) => Promise<PlainAnswer>;

export type PlainRequest = {
  method: "GET" | "POST";
  /** Below the base URL. */
  path: string;
  body?: string;
  signal?: AbortSignal | undefined;
  /** Called with the bytes as they come. */
  onBytes?: (bytes: Uint8Array) => void;
};

export type PlainAnswer = { status: number; body: Uint8Array };

export function plainCalls(send: Send): Calls {
  const call = async (request: PlainRequest): Promise<Uint8Array> => {
    const { status, body } = await send(request);
    if (status >= 400) throw new Refused(status, JSON.parse(Buffer.from(body).toString()) as ErrorJson);
    return body;
  };
  const callJson = async (request: PlainRequest): Promise<never> =>
    JSON.parse(Buffer.from(await call(request)).toString()) as never;
  const post = (path: string, body: object): PlainRequest => ({ method: "POST", path, body: JSON.stringify(body) });
  return {
    async chat(ask) {
      const { choices, usage }: Completion = await callJson({
        ...post("/chat/completions", bodyOf(ask)),
        signal: ask.signal,
      });
      const [choice] = choices;
      return said(choice?.message.content ?? "", choice?.finish_reason, usage, choice?.message.tool_calls ?? []);
    },
    async streamChat(ask, onText) {
      const reader = makeReader(onText);
      await call({
        ...post("/chat/completions", { ...bodyOf(ask), stream: true, stream_options: { include_usage: true } }),
        signal: ask.signal,
        onBytes: reader.push,
      });
      return reader.said();
    },
    async embed({ model, texts }) {
      const answer: { data: { embedding: number[] }[]; usage: { prompt_tokens: number } } = await callJson(
        post("/embeddings", { model, input: texts }),
      );
      return { vectors: answer.data.map(({ embedding }) => embedding), tokens: answer.usage.prompt_tokens };
    },
    async image(ask) {
      const answer: { data: { b64_json: string }[] } = await callJson(post("/images/generations", ask));
      return Buffer.from(answer.data[0]?.b64_json ?? "", "base64");
    },
    speak: ({ model, text }) => call(post("/audio/speech", { model, input: text, voice })),
    async models() {
      const { data }: { data: { id: string }[] } = await callJson({ method: "GET", path: "/models" });
      return data.map(({ id }) => id);
    },
    async findModel(id) {
      const model: { id: string } = await callJson({ method: "GET", path: `/models/${id}` });
      return model.id;
    },
    failure(error) {
      if (!(error instanceof Refused)) throw error;
      return error.failure;
    },
  };
}

type ErrorJson = { error: { code: string; message: string } };
type WireUsage = { prompt_tokens: number; completion_tokens: number };
type WireToolCall = { function: { name: string; arguments: string } };
type Completion = {
  choices: { finish_reason: string; message: { content: string | null; tool_calls?: WireToolCall[] } }[];
  usage?: WireUsage;
};
type Chunk = Partial<ErrorJson> & {
  choices?: {
    finish_reason: string | null;
    delta: { content?: string; tool_calls?: { function?: Partial<WireToolCall["function"]> }[] };
  }[];
  usage?: WireUsage | null;
};

/** Puts a stream's chunks together. */
function makeReader(onText: (piece: string) => void): { push(bytes: Uint8Array): void; said(): Said } {
  let rest = new Uint8Array();
  let text = "";
  let finish: string | undefined;
  let usage: WireUsage | undefined;
  const calls: WireToolCall[] = [];
  const take = ({ error, choices: [choice] = [], usage: told }: Chunk): void => {
    if (error !== undefined) throw new Refused(null, { error });
    usage = told ?? usage;
    finish = choice?.finish_reason ?? finish;
    const { content = "", tool_calls: [call] = [] } = choice?.delta ?? {};
    text += content;
    if (content !== "") onText(content);
    if (call?.function?.name !== undefined) calls.push({ function: { name: call.function.name, arguments: "" } });
    const last = calls.at(-1);
    if (last !== undefined) last.function.arguments += call?.function?.arguments ?? "";
  };
  return {
    push(bytes) {
      const all = Buffer.concat([rest, bytes]);
      const end = all.lastIndexOf("\n\n") + 2;
      if (end < 2) {
        rest = all;
        return;
      }
      rest = all.subarray(end);
      for (const event of eventsOf(all.subarray(0, end))) if (event !== "[DONE]") take(JSON.parse(event) as Chunk);
    },
    said: () => said(text, finish, usage, calls),
  };
}

function said(text: string, finish = "none", usage: WireUsage | undefined, calls: WireToolCall[]): Said {
  return {
    text,
    finish,
    usage: usage === undefined ? null : { prompt: usage.prompt_tokens, completion: usage.completion_tokens },
    calls: calls.map((call) => call.function),
  };
}

function bodyOf({ model, text, maxTokens, withTool }: Ask): object {
  return {
    model,
    messages: [{ role: "user", content: text }],
    max_tokens: maxTokens,
    ...(withTool === true ? { tools: [{ type: "function", function: tool }] } : {}),
  };
}

class Refused extends Error {
  readonly failure: Failure;
  constructor(status: number | null, { error }: ErrorJson) {
    super(error.message);
    this.failure = { status, code: error.code, message: error.message };
  }
}
