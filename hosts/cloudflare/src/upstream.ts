import { UpstreamFailure, type UpstreamTransport } from "@inference/gateway/environment";

/** The way to the provider from a Worker: `fetch`, without following redirects. */
export const upstream: UpstreamTransport = {
  async send({ method, url, headers, body, signal }) {
    let response: Response;
    try {
      const sent = (body ?? null) as string | Uint8Array<ArrayBuffer> | null;
      response = await fetch(url, { method, headers, body: sent, signal, redirect: "manual" });
    } catch (error) {
      // `fetch` does not say whether bytes were sent, so nothing is ever sent again.
      throw new UpstreamFailure("sent", String(error));
    }
    return { status: response.status, header: (name) => response.headers.get(name), body: readBody(response.body) };
  },
};

async function* readBody(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw new UpstreamFailure("body", String(error));
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
