/** The way of a passing answer's bytes to the client: the host's own, or a web stream. */
export type Outlet = {
  /** The response that the request's handler returns. */
  response: Response;
  write(bytes: Uint8Array): void;
  /** The bytes that wait because the client is slow. */
  waitingBytes(): number;
  end(): void;
  /** Ends it so that the client notices that it is incomplete. */
  breakOff(why: string): void;
};

/** They are called later, never before the outlet is returned. */
type OutletEvents = {
  /** Fewer bytes wait. */
  onRoom(): void;
  /** The client has left before the end. */
  onGone(): void;
};

/** Begins a response with status 200. */
export type OpenOutlet = (headers: Record<string, string>, events: OutletEvents) => Outlet;

/** Bytes that may wait for a slow client. Above them a web stream reports no room. */
export const MAX_BACKLOG_BYTES = 256 * 1024;

export function openWebOutlet(headers: Record<string, string>, { onRoom, onGone }: OutletEvents): Outlet {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const readable = new ReadableStream<Uint8Array>(
    {
      start(started) {
        stream = started;
      },
      pull: onRoom,
      cancel: onGone,
    },
    { highWaterMark: MAX_BACKLOG_BYTES, size: (chunk) => chunk.byteLength },
  );
  return {
    response: new Response(readable, { status: 200, headers }),
    write: (bytes) => stream?.enqueue(bytes),
    waitingBytes: () => MAX_BACKLOG_BYTES - (stream?.desiredSize ?? MAX_BACKLOG_BYTES),
    end: () => stream?.close(),
    breakOff: (why) => stream?.error(new Error(why)),
  };
}
