import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { OpenOutlet } from "@inference/gateway/http/outlet";

/**
 * Writes an answer straight to the connection, without a web stream. The rest waits here until the connection takes
 * it, so the outlet reports room for each part.
 */
export function outletOf(outgoing: ServerResponse): OpenOutlet {
  return (headers, { onRoom, onGone }) => {
    const waiting: Uint8Array[] = [];
    let waitingBytes = 0;
    let isFull = false;
    let isOver = false;

    function send(bytes: Uint8Array): void {
      isFull = !outgoing.write(bytes);
    }

    function flow(): void {
      isFull = false;
      let sent = 0;
      for (const bytes of waiting) {
        if (isFull) break;
        sent += 1;
        waitingBytes -= bytes.length;
        send(bytes);
      }
      // A `shift` for each would move all items of a long array each time.
      waiting.splice(0, sent);
      if (isOver && waiting.length === 0) outgoing.end();
      else onRoom();
    }

    outgoing.on("drain", flow);
    outgoing.on("error", onGone);
    outgoing.on("close", () => {
      waiting.length = 0;
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
