import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";

/**
 * Keep-alive connections to one origin, each used by one request at a time. They prevent that an answer reaches the
 * wrong request:
 *
 * - A byte that arrives while no request is outstanding closes its connection.
 * - A connection rests after each answer before it is used again. A second, unrequested answer arrives in that time,
 *   and is not taken for the answer to the next request.
 * - Informational answers (1xx) are removed. The client library takes an unrequested `100 Continue` for a broken answer.
 */
export type Connections = {
  /** Sends a request on a connection that has rested, or on a new one. False if all connections are in use. */
  dispatch(options: Dispatcher.DispatchOptions, handler: ResponseHandler): boolean;
  close(): Promise<void>;
};

/** The events of a request. The last one is either `onEnd` or `onError`. */
export type ResponseHandler = {
  onStart(controller: Dispatcher.DispatchController): void;
  onHeaders(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: Error): void;
};
type ResponseHeaders = Record<string, string | string[] | undefined>;

/** Each client connection may need one, and so do answers that are read on after their client has disconnected. */
export const MAX_PROVIDER_CONNECTIONS = 16_384;
const CONNECT_MS = 10_000;
/** How long a connection rests after an answer. A provider with Nagle's algorithm may wait 40 ms for a delayed ACK. */
const REST_MS = 50;

/** A client of the library is one connection, which it reopens when needed. */
type Connection = { client: Client; state: ConnectionState };
type ConnectionState = "unused" | "waiting" | "answering" | "resting";

export function openConnections(origin: string): Connections {
  const connector = buildConnector({ timeout: CONNECT_MS, allowH2: false });
  const all = new Set<Connection>();
  /** In the order of their last answers, as `rested`. */
  const resting: { connection: Connection; since: number }[] = [];
  const rested: Connection[] = [];

  function open(): Connection {
    const client = new Client(origin, {
      pipelining: 1,
      // The caller limits the time with a signal, as on every host.
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

  /** Takes the rested connection that was used last, so that the others can idle and close. */
  function takeRested(): Connection | undefined {
    const now = performance.now();
    for (let next = resting[0]; next !== undefined && now - next.since >= REST_MS; next = resting[0]) {
      rested.push(next.connection);
      resting.shift();
    }
    return rested.pop();
  }

  function discard(connection: Connection): void {
    all.delete(connection);
    const restingAt = resting.findIndex((other) => other.connection === connection);
    if (restingAt >= 0) resting.splice(restingAt, 1);
    const restedAt = rested.indexOf(connection);
    if (restedAt >= 0) rested.splice(restedAt, 1);
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
          // Their bytes, a buffer for each name and value, would stay as long as the answer.
          controller.rawHeaders = null;
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

/** Filters the bytes between a socket and the library, which reads them with `read`. */
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
    const { rest, isWhole } = withoutInformational(held === null ? chunk : Buffer.concat([held, chunk]));
    held = isWhole ? null : rest;
    return isWhole && rest.length > 0 ? rest : null;
  };
}

const INFORMATIONAL = Buffer.from("HTTP/1.1 1");
const HEAD_END = "\r\n\r\n";
/** The largest informational (1xx) answer that is read to its end. */
const MAX_INFORMATIONAL_BYTES = 4096;

function mayBeInformational(bytes: Buffer): boolean {
  const compared = Math.min(bytes.length, INFORMATIONAL.length);
  for (let at = 0; at < compared; at++) if (bytes[at] !== INFORMATIONAL[at]) return false;
  return true;
}

/** Removes each informational answer. `isWhole` is false if the rest may be the beginning of one. */
function withoutInformational(bytes: Buffer): { rest: Buffer; isWhole: boolean } {
  let rest = bytes;
  while (rest.length > 0) {
    if (!mayBeInformational(rest)) break;
    const end = rest.indexOf(HEAD_END);
    if (end < 0) return { rest, isWhole: rest.length > MAX_INFORMATIONAL_BYTES };
    rest = rest.subarray(end + HEAD_END.length);
  }
  return { rest, isWhole: true };
}
