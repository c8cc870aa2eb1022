import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Addresses that answer once a client has left: see `worker-under-test.ts`. */
export type Departures = {
  /** The header that says where to ask. */
  headerOf(signal: AbortSignal): Record<string, string>;
  close(): void;
};

export async function openDepartures(): Promise<Departures> {
  const signals: AbortSignal[] = [];
  const server = createServer((request, response) => {
    const signal = signals[Number(request.url?.slice(1))];
    if (signal?.aborted !== false) response.end();
    else signal.addEventListener("abort", () => response.end(), { once: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    headerOf: (signal) => ({ "x-test-answers-once-left": `http://127.0.0.1:${port}/${signals.push(signal) - 1}` }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
