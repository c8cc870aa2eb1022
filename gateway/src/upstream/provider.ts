import { joinBytes } from "../bytes.ts";
import type { UpstreamConfig } from "../config.ts";
import { UpstreamFailure, type UpstreamResponse, type UpstreamTransport } from "../environment.ts";
import type { TraceContext } from "../tracing.ts";
import { fillRecordUrl, type RecordedAnswer } from "./record-url.ts";

/**
 * The provider's API, and the only place that uses an inference key. Nothing of a client's request is passed on: path,
 * body and headers are written by the gateway. The exception is a well-formed `traceparent` with its `tracestate`.
 */
export type Provider = {
  /** @param key The master key, or a key that was made under it. */
  infer(call: ProviderCall, key: string, signal: AbortSignal): Promise<UpstreamResponse>;
  /** A free read of the provider, as text; null if it does not exist. Throws `UpstreamFailure` if it cannot be read. */
  read(path: string, signal: AbortSignal): Promise<string | null>;
  /**
   * The status of the answer to a chat request without a model. No provider can bill it, and providers check the key
   * first. Free reads would not test the key, because many are public. Throws `UpstreamFailure`.
   */
  tryKey(signal: AbortSignal): Promise<number>;
  /** The provider's record of an answer; null while it has none. */
  record(answer: RecordedAnswer, signal: AbortSignal): Promise<string | null>;
  /** A page of the provider's record of its charges. Throws `UpstreamFailure`, also without a key for it. */
  billing(url: string, signal: AbortSignal): Promise<{ status: number; text: string }>;
};

/** A request that costs money. */
type ProviderCall = {
  /** Below the provider's base URL. The endpoint's `parse` names it, never the client. */
  path: string;
  body: Uint8Array;
  /** The body's `Content-Type`; JSON if absent. */
  type?: string | undefined;
  /** The answer is an event stream. */
  stream: boolean;
  /** The request's place in its trace; absent or null if it has none. */
  trace?: TraceContext | null;
};

const MAX_READ_BYTES = 32 * 1024 * 1024;

export function makeProvider(config: UpstreamConfig, transport: UpstreamTransport): Provider {
  const headers = (accept: string, key = config.apiKey): Record<string, string> => ({
    // A provider on the operator's own machine may have no key.
    ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
    accept,
    "accept-encoding": "identity",
    "user-agent": "inference-gateway",
  });
  async function get(url: string, key: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const response = await transport.send({ method: "GET", url, headers: headers("application/json", key), signal });
    const text = new TextDecoder().decode(await readBytes(response.body, MAX_READ_BYTES));
    return { status: response.status, text };
  }
  return {
    infer(call, key, signal) {
      const request = {
        method: "POST" as const,
        url: `${config.baseUrl}${call.path}`,
        headers: {
          ...headers(call.stream ? "text/event-stream" : "*/*", key),
          "content-type": call.type ?? "application/json",
          ...traceHeaders(call.trace ?? null),
        },
        body: call.body,
        signal,
      };
      return transport.send(request).catch((error: unknown) => {
        // Only if no byte was sent: a request that the provider may have received is never sent twice.
        if (!(error instanceof UpstreamFailure) || error.stage !== "not_sent" || signal.aborted) throw error;
        return transport.send(request);
      });
    },
    async read(path, signal) {
      const { status, text } = await get(`${config.baseUrl}${path}`, config.apiKey, signal);
      if (status === 404) return null;
      if (status !== 200) throw new UpstreamFailure("sent", `the provider answered ${path} with ${status}`);
      return text;
    },
    async tryKey(signal) {
      const { status, body } = await transport.send({
        method: "POST",
        url: `${config.baseUrl}/chat/completions`,
        headers: { ...headers("application/json"), "content-type": "application/json" },
        body: "{}",
        signal,
      });
      // Read, so that its connection can be used again.
      await readBytes(body, MAX_READ_BYTES);
      return status;
    },
    async record(answer, signal) {
      if (config.recordUrl === null) return null;
      const url = fillRecordUrl(config.recordUrl, answer);
      const { status, text } = await get(url, config.recordKey, signal);
      return status === 200 ? text : null;
    },
    async billing(url, signal) {
      if (config.billing === null) throw new UpstreamFailure("not_sent", "there is no key for the provider's charges");
      return get(url, config.billing.key, signal);
    },
  };
}

function traceHeaders(trace: TraceContext | null): Record<string, string> {
  if (trace === null) return {};
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate === null ? {} : { tracestate }) };
}

/** A whole body. Throws `UpstreamFailure` above the limit. */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) throw new UpstreamFailure("body", `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}
