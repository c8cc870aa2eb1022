import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { pause, type Timers, within } from "@inference/protocol/timers";

/**
 * A JSON-RPC client over `fetch`, with limits on time and size. No error's text contains the node's address, which often
 * contains a secret.
 */
export type ChainClient = {
  /**
   * Sends a request to a node, and again if that can help.
   *
   * @param options.signal Aborts the request with all its tries.
   * @throws ChainUnavailable if there was no answer, or none that can be parsed.
   * @throws RpcError if the answer is an error.
   */
  request(method: string, params: readonly unknown[], options?: { signal?: AbortSignal }): Promise<unknown>;
};

export type ChainClientOptions = {
  url: string;
  fetch: typeof fetch;
  /** Between 0 and 1, for the pauses between tries. */
  random(): number;
  timers: Timers;
  /** For one try, until the last byte of its answer. */
  timeoutMs?: number;
  tries?: number;
  pauseMs?: number;
  maxResponseBytes?: number;
};

const RATE_LIMIT_CODES: readonly number[] = [429, -32005, -32007];

export function createChainClient(options: ChainClientOptions): ChainClient {
  // Not called as `options.fetch`: on some platforms `fetch` must not be called as a method.
  const { fetch: send, timers, timeoutMs = 5_000, tries = 3, pauseMs = 250, maxResponseBytes = 5 << 20 } = options;
  const { url, headers } = withoutCredentials(options.url);
  let lastId = 0;

  async function tryOnce(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const id = ++lastId;
    const response = await send(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      redirect: "manual",
      signal,
    });
    const text = await readCapped(response, maxResponseBytes);
    return resultOf(response, text, id);
  }

  return {
    async request(method, params, { signal } = {}) {
      for (let count = 1; ; count += 1) {
        try {
          return await within(timers, timeoutMs, (timeout) =>
            tryOnce(method, params, signal === undefined ? timeout : AbortSignal.any([timeout, signal])),
          );
        } catch (error) {
          const over = count >= tries || signal?.aborted === true || !isWorthAnotherTry(error);
          if (over) throw error instanceof RpcError ? error : unavailable(method, error, count);
        }
        await pause(timers, pauseMs * 2 ** (count - 1) * (0.5 + options.random()), signal);
      }
    },
  };
}

/** The node's answer cannot be true. */
export class ChainContradiction extends ChainUnavailable {}

/** The node answered with an error. */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  /** The revert data of a contract that failed. */
  readonly data: `0x${string}` | undefined;
  constructor(code: number, message: string, data?: `0x${string}`) {
    super(`${message.slice(0, 300)} (${code})`);
    this.code = code;
    this.data = data;
  }

  /** Whether the called contract failed, and not the node. Nodes agree only on the code of a revert. */
  get isContractFailure(): boolean {
    return (
      this.code === 3 || /revert|out ?of ?gas|invalid ?(fe)?opcode|invalid jump|stack|EVM error/i.test(this.message)
    );
  }
}

class TooLarge extends Error {}

function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof RpcError) return RATE_LIMIT_CODES.includes(error.code);
  return !(error instanceof TooLarge);
}

function unavailable(method: string, error: unknown, count: number): ChainUnavailable {
  const why = error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
  return new ChainUnavailable(`${method}: no answer after ${count} tries (${why})`, { cause: error });
}

async function readCapped(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop by throwing cancels the body.
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TooLarge(`an answer above ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function resultOf(response: Response, text: string, id: number): unknown {
  const answer = parseObject(text);
  const error = answer?.error;
  // Some nodes say that a range is too large with a status of 400 and a proper error.
  if (answer !== undefined && isErrorObject(error)) throw new RpcError(error.code, error.message, revertData(error));
  if (!response.ok) throw new Error(`status ${response.status}`);
  if (answer === undefined) throw new Error("an answer that is not JSON-RPC");
  if (answer.id !== id || !("result" in answer)) throw new Error("an answer to another question");
  return answer.result;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function revertData(error: { data?: unknown }): `0x${string}` | undefined {
  return typeof error.data === "string" && /^0x([0-9a-f]{2})*$/i.test(error.data)
    ? (error.data as `0x${string}`)
    : undefined;
}

function isErrorObject(value: unknown): value is { code: number; message: string; data?: unknown } {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value)) return false;
  return typeof value.code === "number" && typeof value.message === "string";
}

/** `fetch` refuses an address with a user name in it; the header says the same. */
function withoutCredentials(address: string): { url: string; headers: Record<string, string> } {
  const url = new URL(address);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (url.username !== "") {
    headers.authorization = `Basic ${btoa(decodeURIComponent(`${url.username}:${url.password}`))}`;
    url.username = "";
    url.password = "";
  }
  return { url: url.href, headers };
}
