/** What a parser tells its owner; `body` hands out views into the caller's buffer, valid only during the call. */
export interface ResponseEvents {
  head(status: number): void;
  body(bytes: Buffer): void;
  end(keepAlive: boolean): void;
}

export interface ResponseParser {
  /** Takes the next bytes of the connection, split anywhere. Throws MalformedResponse. */
  push(bytes: Buffer): void;
}

/**
 * An HTTP/1.1 response parser for a client that sends no HEAD and no Upgrade: content-length and chunked bodies only.
 * A body that ends with the connection is refused, because a benchmark could not tell it from one that was cut.
 */
export function responseParser(events: ResponseEvents): ResponseParser {
  let state: "head" | "fixed" | "size" | "chunk" | "chunk-end" | "trailer" = "head";
  let line: Buffer = Buffer.alloc(0); // an incomplete head or line, carried over to the next bytes
  let remaining = 0;
  let keepAlive = true;

  /** The index after `mark` in bytes, with everything before it put into `line`; -1 if it has not arrived. */
  function through(bytes: Buffer, from: number, mark: string): number {
    // Whole in one piece is the usual case and copies nothing.
    if (line.length === 0) {
      const at = bytes.indexOf(mark, from, "latin1");
      if (at !== -1) {
        line = bytes.subarray(from, at);
        return at + mark.length;
      }
    }
    const carried = line.length;
    line = Buffer.concat([line, bytes.subarray(from)]);
    if (line.length > 65_536) throw new MalformedResponse("a head or chunk size without end");
    const at = line.indexOf(mark, 0, "latin1");
    if (at === -1) return -1;
    line = line.subarray(0, at);
    return from + at + mark.length - carried;
  }

  function taken(): string {
    const text = line.toString("latin1");
    line = Buffer.alloc(0);
    return text;
  }

  function finish(): void {
    state = "head";
    events.end(keepAlive);
  }

  function readHead(text: string): void {
    const head = parseHead(text);
    // 1xx is not the answer yet.
    if (head.status < 200) return;
    keepAlive = head.keepAlive;
    events.head(head.status);
    if (head.chunked) state = "size";
    else {
      remaining = head.length;
      state = "fixed";
      if (remaining === 0) finish();
    }
  }

  function push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (state === "fixed" || state === "chunk") {
        const end = Math.min(bytes.length, at + remaining);
        events.body(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        remaining -= end - at;
        at = end;
        if (remaining === 0 && state === "fixed") finish();
        else if (remaining === 0) state = "chunk-end";
        continue;
      }
      const next = through(bytes, at, state === "head" ? "\r\n\r\n" : "\r\n");
      if (next === -1) return;
      at = next;
      const text = taken();
      if (state === "head") readHead(text);
      else if (state === "size") {
        remaining = parseChunkSize(text);
        state = remaining === 0 ? "trailer" : "chunk";
      } else if (state === "chunk-end") {
        if (text !== "") throw new MalformedResponse("a chunk longer than its size");
        state = "size";
      } else if (text === "") finish();
    }
  }

  return { push };
}

interface Head {
  readonly status: number;
  readonly chunked: boolean;
  readonly length: number;
  readonly keepAlive: boolean;
}

function parseHead(text: string): Head {
  const status = /^HTTP\/1\.1 (\d{3})(?: |\r|$)/.exec(text)?.[1];
  if (status === undefined) throw new MalformedResponse(`not a status line: ${text.slice(0, 60)}`);
  const code = Number(status);
  const chunked = /\r\ntransfer-encoding: *chunked *(?:\r|$)/i.test(text);
  const length = /\r\ncontent-length: *(\d+) *(?:\r|$)/i.exec(text)?.[1];
  const bodiless = code < 200 || code === 204 || code === 304;
  if (!chunked && length === undefined && !bodiless) throw new MalformedResponse("a body without a length");
  return {
    status: code,
    chunked,
    length: Number(length ?? 0),
    keepAlive: !/\r\nconnection: *close *(?:\r|$)/i.test(text),
  };
}

function parseChunkSize(text: string): number {
  const digits = /^([0-9a-f]{1,8})(?:[ ;]|$)/i.exec(text)?.[1];
  if (digits === undefined) throw new MalformedResponse(`not a chunk size: ${text.slice(0, 60)}`);
  return Number.parseInt(digits, 16);
}

export class MalformedResponse extends Error {
  override readonly name = "MalformedResponse";
}
