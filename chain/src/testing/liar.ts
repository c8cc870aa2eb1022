import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, beforeEach } from "node:test";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { post } from "./anvil.ts";

/** A node that stands before an honest one and answers as it likes. */
export type Liar = AsyncDisposable & {
  url: string;
  /** Honest while undefined. */
  lie: Lie | undefined;
  /** The methods asked since it was last emptied. */
  asked: string[];
};

export type Question = { id: number; method: string; params: readonly unknown[] };
export type Answer = { result?: unknown; error?: unknown };
/** Answers in the place of the honest node; undefined leaves it to that one. A function writes the response itself. */
export type Lie = (
  question: Question,
  honest: (question?: Partial<Question>) => Promise<Answer>,
) => Promise<Answer | undefined> | Answer | undefined | ((response: ServerResponse) => void);

/** The failures of a node that answers nothing about the chain. */
export const NODE_FAILURES: Readonly<Record<string, Lie>> = {
  "an unreachable node": () => (response) => response.writeHead(503).end(),
  "a node with an error of its own": () => ({ error: { code: -32000, message: "header not found" } }),
  "a node at its limit": () => ({ error: { code: -32005, message: "limit exceeded" } }),
  "a page": () => (response) => response.end("<html></html>"),
  "a node that does not answer in two seconds": () => () => {},
};

/** At the top of a file: a liar that runs during its tests, and is honest when one begins. */
export function shareLiar(honestUrl: () => string): Liar {
  const liar = {} as Liar;
  before(() => startLiar(honestUrl(), liar));
  after(() => liar[Symbol.asyncDispose]?.());
  beforeEach(() => {
    liar.lie = undefined;
    liar.asked = [];
  });
  return liar;
}

export async function startLiar(honestUrl: string, liar = {} as Liar): Promise<Liar> {
  const server = createServer((request, response) => {
    text(request)
      .then((body) => reply(JSON.parse(body) as Question, response))
      .catch(() => response.destroy());
  });

  async function reply(question: Question, response: ServerResponse): Promise<void> {
    liar.asked.push(question.method);
    const honest = (other: Partial<Question> = {}) => post(honestUrl, { jsonrpc: "2.0", ...question, ...other });
    const lie = liar.lie?.(question, honest);
    if (typeof lie === "function") return lie(response);
    const { result, error } = (await lie) ?? (await honest());
    const answer = error === undefined ? { result } : { error };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: question.id, ...answer }));
  }

  const { url, close } = await listenLocally(server);
  return Object.assign(liar, { url: `${url}/`, lie: undefined, asked: [], [Symbol.asyncDispose]: close });
}
