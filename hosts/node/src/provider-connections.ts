import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";

/**
 * Keep-alive connections to one origin, each used by one request at a time. What HTTP/1.1 leaves open is closed here:
 *
 * - A byte that comes while no request is outstanding closes its connection.
 * - A connection rests after each answer before it is used again, so that a second answer that nobody asked for comes
 *   while no request is outstanding, and is not taken for the answer to the next request.
 * - `100 Continue`, which nobody asked for either, is left out. The client library takes it for a broken answer; other
 *   informational answers it reports.
 */
export type Connections = {
  /** Sends a request on a connection that has rested, or on a new one. False: all that there may be are in use. */
  dispatch(options: Dispatcher.DispatchOptions, handler: ResponseHandler): boolean;
  close(): Promise<void>;
};

/** What happens to a request. Exactly one of `onEnd` and `onError` is called, as the last. */
export type ResponseHandler = {
  onStart(controller: Dispatcher.DispatchController): void;
  onHeaders(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: Error): void;
};
export type ResponseHeaders = Record<string, string | string[] | undefined>;

/** Every client's connection may need one to the provider, and so do answers that are read on for clients that left. */
export const MAX_PROVIDER_CONNECTIONS = 16_384;
const CONNECT_MS = 10_000;
/** How long a connection rests after an answer. A provider that gathers small writes may wait for a late ACK: 40 ms. */
const REST_MS = 50;

/** One client of the library's is one connection, opened again when it is needed. */
type Connection = { client: Client; state: ConnectionState };
type ConnectionState = "unused" | "waiting" | "answering" | "resting";

export function openConnections(origin: string): Connections {
  const connector = buildConnector({ timeout: CONNECT_MS, allowH2: false });
  const all = new Set<Connection>();
  /** By the time of their last answer, which is when they were put here. */
  const resting: { connection: Connection; since: number }[] = [];

  function open(): Connection {
    const client = new Client(origin, {
      pipelining: 1,
      // Whoever asks says with a signal how long it waits: the same on every host.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: (options, callback) =>
        connector(options, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          watchBytes(socket, connection);
          callback(null, socket);
        }),
    });
    const connection: Connection = { client, state: "unused" };
    client.on("disconnect", () => {
      if (connection.state === "resting") discard(connection);
    });
    all.add(connection);
    return connection;
  }

  /** The one that was used last of those that have rested: the others may then grow old and close. */
  function takeRested(): Connection | undefined {
    const now = performance.now();
    const index = resting.findLastIndex(({ since }) => now - since >= REST_MS);
    return index < 0 ? undefined : resting.splice(index, 1)[0]?.connection;
  }

  function discard(connection: Connection): void {
    all.delete(connection);
    const index = resting.findIndex((rested) => rested.connection === connection);
    if (index >= 0) resting.splice(index, 1);
    connection.client.destroy().catch(() => undefined);
  }

  return {
    dispatch(options, handler) {
      const connection = takeRested() ?? (all.size < MAX_PROVIDER_CONNECTIONS ? open() : undefined);
      if (connection === undefined) return false;
      connection.state = "waiting";
      connection.client.dispatch(options, {
        onRequestStart: (controller) => handler.onStart(controller),
        onResponseStart(controller, status, headers) {
          if (status < 200) return;
          connection.state = "answering";
          handler.onHeaders(controller, status, headers);
        },
        onResponseData: (_controller, chunk) => handler.onData(chunk),
        onResponseEnd() {
          connection.state = "resting";
          resting.push({ connection, since: performance.now() });
          handler.onEnd();
        },
        onResponseError(_controller, error) {
          discard(connection);
          handler.onError(error);
        },
      });
      return true;
    },
    async close() {
      await Promise.all([...all].map(({ client }) => client.destroy()));
    },
  };
}

/** Stands between a socket and the library, which takes all bytes by `read`. */
function watchBytes(socket: Socket, connection: Connection): void {
  const read = socket.read.bind(socket);
  let held: Buffer | null = null;
  socket.read = (size?: number): Buffer | null => {
    const chunk: Buffer | null = read(size);
    if (chunk === null || connection.state === "answering") return chunk;
    if (connection.state === "resting") {
      socket.destroy(new Error("a byte came that no request had asked for"));
      return null;
    }
    const { rest, isWhole } = withoutContinue(held === null ? chunk : Buffer.concat([held, chunk]));
    held = isWhole ? null : rest;
    return isWhole && rest.length > 0 ? rest : null;
  };
}

const CONTINUE = Buffer.from("HTTP/1.1 100");
const HEAD_END = "\r\n\r\n";
/** The most of a `100 Continue` that is waited for. */
const MAX_CONTINUE_BYTES = 4096;

/** Where an answer begins: what comes after each `100 Continue`. Not whole: it may be the first bytes of one. */
function withoutContinue(bytes: Buffer): { rest: Buffer; isWhole: boolean } {
  let rest = bytes;
  while (rest.length > 0) {
    const compared = Math.min(rest.length, CONTINUE.length);
    if (rest.compare(CONTINUE, 0, compared, 0, compared) !== 0) break;
    const end = rest.indexOf(HEAD_END);
    if (end < 0) return { rest, isWhole: rest.length > MAX_CONTINUE_BYTES };
    rest = rest.subarray(end + HEAD_END.length);
  }
  return { rest, isWhole: true };
}
