import { createServer } from "node:http";
import { listenLocally } from "@inference/protocol/testing/local-server";

/** Addresses that answer once a client has left: see `worker-under-test.ts`. */
export type Departures = {
  /** The header that says where to ask. */
  headerOf(signal: AbortSignal): Record<string, string>;
  close(): Promise<void>;
};

export async function openDepartures(): Promise<Departures> {
  const signals: AbortSignal[] = [];
  const server = createServer((request, response) => {
    const signal = signals[Number(request.url?.slice(1))];
    if (signal?.aborted !== false) response.end();
    else signal.addEventListener("abort", () => response.end(), { once: true });
  });
  const { url, close } = await listenLocally(server);
  return {
    headerOf: (signal) => ({ "x-test-answers-once-left": `${url}/${signals.push(signal) - 1}` }),
    close,
  };
}
