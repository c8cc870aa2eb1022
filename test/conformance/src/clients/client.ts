import type { Wire } from "../wire.ts";

/** A client that somebody else wrote, behind the few calls that every row of the table is written in. */
export type Client = {
  name: string;
  /** Rows it has no way to do, with the reason. */
  cannot: Readonly<Record<string, string>>;
  /** Its API waits inside the gateway for a budget that only requests in flight have taken, where others have a 429. */
  waitsInside?: true;
  open(connection: Connection): Promise<Calls>;
  /** Ends the processes of all opened connections. */
  close?(): Promise<void>;
};

export type Connection = {
  /** With the prefix, as clients are given it. */
  baseUrl: string;
  apiKey: string;
  /** Its `fetch` is for clients of this process; others add to its exchanges what they saw. */
  wire: Wire;
  /** How often the client may try again. */
  retries: number;
};

export type Calls = {
  chat(ask: Ask): Promise<Said>;
  /** @param onText Called with each piece of text. */
  streamChat(ask: Ask, onText: (piece: string) => void): Promise<Said>;
  embed(ask: { model: string; texts: string[] }): Promise<{ vectors: number[][]; tokens: number }>;
  image(ask: { model: string; prompt: string }): Promise<Uint8Array>;
  speak(ask: { model: string; text: string }): Promise<Uint8Array>;
  models(): Promise<string[]>;
  findModel(id: string): Promise<string>;
  /** Reads an error that the client threw. */
  failure(error: unknown): Failure;
};

export type Ask = { model: string; text: string; maxTokens: number; withTool?: boolean; signal?: AbortSignal };

export type Said = {
  text: string;
  /** OpenAI's word for it. */
  finish: string;
  usage: { prompt: number; completion: number } | null;
  calls: { name: string; arguments: string }[];
};

export type Failure = { status: number | null; code: string | null; message: string };

/** The one tool that is offered where a row wants one. */
export const tool = {
  name: "look_up",
  description: "Looks a text up.",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
} as const;

export const voice = "af_sky";

export function cannotDo(): never {
  throw new Error("this client cannot do that: the row is in its `cannot`");
}

/** The calls that a client for chat lacks. */
export const chatAlone = {
  embed: cannotDo,
  image: cannotDo,
  speak: cannotDo,
  models: cannotDo,
  findModel: cannotDo,
};
