import { type IncomingHttpHeaders, request } from "node:http";
import type { RequestRecord } from "./record.ts";
import { type ProviderSimulator, startProviderSimulator } from "./server.ts";
import { DEFAULT_ADMIN_KEY, DEFAULT_MASTER_KEY, type SimulatorOptions } from "./simulator.ts";

/** The answer of the tests' HTTP client, which reports a broken answer and does not throw. */
export interface Heard {
  /** 0 when no headers came. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as it arrived, read by read. */
  readonly reads: readonly Buffer[];
  readonly bytes: Buffer;
  readonly text: string;
  /** Whether the answer came to its proper end. */
  readonly complete: boolean;
  readonly error: string | null;
}

export interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null for no credential. */
  readonly key?: string | null;
  /** Leave once so many bytes were heard, once this is true, or after this time. */
  readonly leaveAtBytes?: number;
  readonly leaveWhen?: () => boolean;
  readonly leaveAfterMs?: number;
}

export { DEFAULT_ADMIN_KEY as ADMIN_KEY, DEFAULT_MASTER_KEY as MASTER_KEY };

/** A fixed time, so that whole answers can be compared. */
export const NOON = Date.UTC(2026, 5, 15, 12);

export function start(options: SimulatorOptions = {}): Promise<ProviderSimulator> {
  return startProviderSimulator({ clock: () => NOON, errorBudget: null, ...options });
}

export function ask(url: string, asked: Asked = {}): Promise<Heard> {
  const { key = DEFAULT_MASTER_KEY, body } = asked;
  const payload = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  const headers: Record<string, string> = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(payload === null ? {} : { "content-type": "application/json" }),
    ...asked.headers,
  };
  return new Promise((resolve) => {
    const reads: Buffer[] = [];
    let status = 0;
    let heardBytes = 0;
    let complete = false;
    let error: string | null = null;
    let answered: IncomingHttpHeaders = {};
    const method = asked.method ?? (payload === null ? "GET" : "POST");
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      status = response.statusCode ?? 0;
      answered = response.headers;
      response.on("data", (read: Buffer) => {
        reads.push(read);
        heardBytes += read.length;
        if (asked.leaveAtBytes !== undefined && heardBytes >= asked.leaveAtBytes) outgoing.destroy();
      });
      response.on("end", () => {
        complete = true;
      });
      response.on("error", (problem: NodeJS.ErrnoException) => {
        error = problem.code ?? problem.message;
      });
    });
    outgoing.on("error", (problem: NodeJS.ErrnoException) => {
      error = problem.code ?? problem.message;
    });
    const timer = asked.leaveAfterMs === undefined ? null : setTimeout(() => outgoing.destroy(), asked.leaveAfterMs);
    const watch =
      asked.leaveWhen === undefined ? null : setInterval(() => asked.leaveWhen?.() && outgoing.destroy(), 5);
    outgoing.on("close", () => {
      if (watch !== null) clearInterval(watch);
      if (timer !== null) clearTimeout(timer);
      const bytes = Buffer.concat(reads);
      resolve({ status, headers: answered, reads, bytes, text: bytes.toString(), complete, error });
    });
    outgoing.end(payload);
  });
}

/** A chat body that asks `model` in one user message. */
export function chatBody(model: string, content: string, more: Readonly<Record<string, unknown>> = {}): unknown {
  return { model, messages: [{ role: "user", content }], ...more };
}

export function chat(
  provider: ProviderSimulator,
  model: string,
  content: string,
  more: Readonly<Record<string, unknown>> = {},
  asked: Asked = {},
): Promise<Heard> {
  return ask(`${provider.url}/chat/completions`, { body: chatBody(model, content, more), ...asked });
}

export function post(provider: ProviderSimulator, path: string, body: unknown, asked: Asked = {}): Promise<Heard> {
  return ask(provider.url + path, { body, ...asked });
}

export function json<T>(heard: Heard): T {
  return JSON.parse(heard.text);
}

/** The data of each event, [DONE] included. Reads every line ending, and data over several lines. */
export function eventData(heard: Heard): string[] {
  const text = heard.text.replace(/^\ufeff/, "").replace(/\r\n|\r/g, "\n");
  return text.split("\n\n").flatMap((event) => {
    const lines = event.split("\n").filter((line) => line.startsWith("data:"));
    return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n")];
  });
}

export interface Chunk {
  readonly id?: string;
  readonly model?: string;
  readonly choices?: readonly {
    readonly index: number;
    readonly finish_reason: string | null;
    readonly delta: {
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
    };
  }[];
  readonly usage?: Readonly<Record<string, unknown>> | null;
  readonly cost?: { readonly usd: number; readonly diem: number };
  readonly error?: { readonly code: string };
}

export function chunks(heard: Heard): Chunk[] {
  return eventData(heard).flatMap((data) => (data === "[DONE]" ? [] : [JSON.parse(data)]));
}

/** The text of the stream's choice 0. */
export function said(heard: Heard): string {
  return chunks(heard)
    .map((chunk) => chunk.choices?.find((choice) => choice.index === 0)?.delta.content ?? "")
    .join("");
}

/** The newest record, once its request has come to an end. */
export async function lastRecord(provider: ProviderSimulator): Promise<RequestRecord> {
  while (provider.simulator.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const record = provider.simulator.records.select(() => true, 1)[0];
  if (record === undefined) throw new Error("nothing was recorded");
  return record;
}

export async function configure(provider: ProviderSimulator, settings: unknown): Promise<void> {
  const heard = await ask(`${provider.controlUrl}/config`, { body: settings });
  if (heard.status !== 200) throw new Error(heard.text);
}
