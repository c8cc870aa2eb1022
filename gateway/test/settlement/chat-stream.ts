import type { TestAccount } from "../fund.ts";
import type { HostUnderTest } from "../host.ts";

/** A chat stream that a client reads: its text and its counts so far. */
export type ReadStream = {
  status: number;
  headers: Headers;
  /** Everything read up to now. */
  text(): string;
  /** Content events read up to now: the simulator puts one token into each. */
  tokens(): number;
  /** Reads on until this is true or the stream ends. True if it was. */
  readUntil(isEnough: () => boolean): Promise<boolean>;
  /** Reads to the end. False if the connection broke off. */
  readAll(): Promise<boolean>;
  leave(): void;
};

export function openChatStream(
  host: HostUnderTest,
  account: Pick<TestAccount, "key">,
  body: object,
): Promise<ReadStream> {
  return openStream(host, account, "/v1/chat/completions", body);
}

/** The same for any path. Its tokens cannot be counted. */
export async function openStream(
  host: HostUnderTest,
  account: Pick<TestAccount, "key">,
  path: string,
  body: object,
): Promise<ReadStream> {
  const abort = new AbortController();
  const answer = await host.call(path, {
    key: account.key,
    body: { ...body, stream: true },
    signal: abort.signal,
  });
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";

  async function readUntil(isEnough: () => boolean): Promise<boolean> {
    while (!isEnough()) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return isEnough();
      text += decoder.decode(value, { stream: true });
    }
    return true;
  }

  return {
    status: answer.status,
    headers: answer.headers,
    text: () => text,
    tokens: () => countTokens(text),
    readUntil,
    async readAll() {
      try {
        await readUntil(() => false);
        return true;
      } catch {
        return false;
      }
    },
    leave: () => abort.abort(),
  };
}

/** The data of each event, in order, whatever line ends there are. */
export function eventData(text: string): string[] {
  const events: string[] = [];
  let lines: string[] = [];
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/)) {
    if (line.startsWith("data:")) lines.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && lines.length > 0) {
      events.push(lines.join("\n"));
      lines = [];
    }
  }
  return events;
}

type Chunk = {
  choices?: { delta?: { content?: string; reasoning_content?: string } }[];
  usage?: Record<string, unknown>;
  error?: { code: string; message: string; type: string; param: string | null };
};

export function chunksIn(text: string): Chunk[] {
  return eventData(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data) as Chunk);
}

function countTokens(text: string): number {
  let tokens = 0;
  for (const { choices = [] } of chunksIn(text)) {
    for (const { delta } of choices)
      if ((delta?.content ?? "") !== "" || (delta?.reasoning_content ?? "") !== "") tokens++;
  }
  return tokens;
}
