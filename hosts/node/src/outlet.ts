import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { OpenOutlet } from "@inference/gateway/http/outlet";
import { makeQueue } from "@inference/protocol/queue";

/**
 * Writes an answer to the connection as it comes, without a web stream in between. What the connection does not take
 * waits here, so that room is reported for each part of it.
 */
export function outletOf(outgoing: ServerResponse): OpenOutlet {
  return (headers, { onRoom, onGone }) => {
    const waiting = makeQueue<Uint8Array>();
    let waitingBytes = 0;
    let isFull = false;
    let isOver = false;

    function send(bytes: Uint8Array): void {
      isFull = !outgoing.write(bytes);
    }

    function flow(): void {
      isFull = false;
      for (let bytes = waiting.first(); !isFull && bytes !== undefined; bytes = waiting.first()) {
        waiting.shift();
        waitingBytes -= bytes.length;
        send(bytes);
      }
      if (isOver && waiting.length === 0) outgoing.end();
      else onRoom();
    }

    outgoing.on("drain", flow);
    outgoing.on("error", onGone);
    outgoing.on("close", () => {
      waiting.clear();
      waitingBytes = 0;
      if (!outgoing.writableFinished) onGone();
    });
    outgoing.writeHead(200, headers);
    outgoing.flushHeaders();
    return {
      response: RESPONSE_ALREADY_SENT,
      write(bytes) {
        if (isFull) {
          waiting.push(bytes);
          waitingBytes += bytes.length;
        } else send(bytes);
      },
      waitingBytes: () => waitingBytes,
      end() {
        isOver = true;
        if (waiting.length === 0) outgoing.end();
      },
      breakOff() {
        // Without a reset the operating system keeps megabytes for a client that does not read, for minutes.
        if (waiting.length > 0) outgoing.socket?.resetAndDestroy();
        else outgoing.destroy();
      },
    };
  };
}
