import type { Exchange } from "./exchange.ts";

/** A `fetch` to give to a client, which adds these headers, and all that passed through it. */
export type Wire = { fetch: typeof fetch; exchanges: Exchange[] };

export function makeWire(added: Readonly<Record<string, string>> = {}): Wire {
  const exchanges: Exchange[] = [];
  return {
    exchanges,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      for (const [name, value] of Object.entries(added)) request.headers.set(name, value);
      const response = await fetch(request);
      const { pathname, search } = new URL(request.url);
      const { status, headers } = response;
      const exchange = { method: request.method, path: pathname + search, status, headers, body: new Uint8Array() };
      const recorded: Exchange = { ...exchange, whole: response.body === null };
      exchanges.push(recorded);
      const body = response.body === null ? null : record(response.body, recorded);
      return new Response(body, { status, statusText: response.statusText, headers });
    },
  };
}

/** The same bytes at the same pace: who stops reading, or leaves, is seen by the other side as without us. */
function record(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  into: Exchange,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let hasLeft = false;
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        // Leaving ends a read that waits as the end of the answer does.
        if (hasLeft) return;
        if (done) {
          into.whole = true;
          controller.close();
          return;
        }
        into.body = Buffer.concat([into.body, value]);
        controller.enqueue(value);
      },
      cancel(reason) {
        hasLeft = true;
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
