import { RECEIPT_HEADER } from "@inference/protocol/signed-receipt";

/**
 * A `fetch` for any OpenAI client that hands over the signed receipt of each paid answer. A whole answer has the
 * receipt in a header, a stream in its usage, if the request asked for usage.
 */
export function keepingReceipts(keep: (receipt: string) => void, inner: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const receipt = response.headers.get(RECEIPT_HEADER);
    if (receipt !== null) keep(receipt);
    const { body, status, statusText, headers } = response;
    if (body === null || !/^text\/event-stream\b/.test(headers.get("content-type") ?? "")) return response;
    return new Response(body.pipeThrough(readReceipts(keep)), { status, statusText, headers });
  };
}

/** Passes the bytes on. Quotes within a model's text are escaped in a stream, so no text looks like this member. */
function readReceipts(
  keep: (receipt: string) => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  let rest = "";
  return new TransformStream({
    transform(bytes, controller) {
      controller.enqueue(bytes);
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const receipt = /"receipt":"([\w-]+\.[\w-]+\.[\w-]+)"/.exec(line)?.[1];
        if (receipt !== undefined) keep(receipt);
      }
    },
  });
}

/** The receipts of a log of JSON lines `{"receipt":"..."}`. A line that a crash cut off is skipped. */
export function receiptsOf(log: string): string[] {
  return log.split("\n").flatMap((line) => {
    try {
      const { receipt } = JSON.parse(line) as { receipt?: unknown };
      return typeof receipt === "string" ? [receipt] : [];
    } catch {
      return [];
    }
  });
}
