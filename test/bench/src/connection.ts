import { connect, type Socket } from "node:net";
import type { AnswerCheck } from "./answer-check.ts";
import { responseParser } from "./http-response.ts";

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly request: Buffer;
  readonly check: AnswerCheck;
  /** Asked before every request; false ends the connection. */
  running(): boolean;
  answered(startedMs: number, firstByteMs: number): void;
  failed(reason: string): void;
  received(bytes: number): void;
}

export interface Connection {
  /** Resolves once the connection has ended after `running` became false. */
  readonly ended: Promise<void>;
  /** Gives up on the answer under way; true if there was one. */
  abandon(): boolean;
}

/** After a failure only. */
const pauseMs = 20;

/**
 * One closed-loop client: sends, reads the whole answer, sends again, on one kept-alive connection. Written over
 * node:net because the generator shares the machine with what it measures: this costs a fraction of any HTTP client.
 */
export function openConnection(options: ConnectionOptions): Connection {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let socket: Socket | undefined;
  let inFlight = false;

  function open(): void {
    if (!options.running()) {
      end();
      return;
    }
    let startedMs = 0;
    let firstByteMs = 0;
    let status = 0;
    let failure: string | undefined;
    const current = connect({ host: options.host, port: options.port, noDelay: true });
    socket = current;

    function send(): void {
      if (current.destroyed) return;
      if (!options.running()) {
        current.destroy();
        return;
      }
      inFlight = true;
      startedMs = performance.now();
      firstByteMs = 0;
      current.write(options.request);
    }

    const parser = responseParser({
      head(code) {
        status = code;
      },
      body(bytes) {
        if (firstByteMs === 0) firstByteMs = performance.now();
        options.check.take(bytes);
      },
      end(keepAlive) {
        inFlight = false;
        const wrong = options.check.finish(status);
        if (wrong === undefined) options.answered(startedMs, firstByteMs);
        else options.failed(wrong);
        if (!keepAlive) current.destroy();
        // A refusal costs the server little; without a pause, refusals would starve the answers they are counted
        // beside.
        else if (wrong !== undefined) setTimeout(send, pauseMs);
        else send();
      },
    });

    current.on("connect", send);
    current.on("data", (bytes: Buffer) => {
      options.received(bytes.length);
      try {
        parser.push(bytes);
      } catch (error) {
        failure = String(error);
        current.destroy();
      }
    });
    current.on("error", (error) => {
      failure = error.message;
    });
    current.on("close", () => {
      if (inFlight) failure ??= "connection closed within an answer";
      inFlight = false;
      if (failure === undefined) {
        open();
        return;
      }
      options.check.finish(0);
      options.failed(failure);
      setTimeout(open, pauseMs);
    });
  }

  open();
  return {
    ended,
    abandon() {
      const abandoned = inFlight;
      socket?.removeAllListeners("close").destroy();
      end();
      return abandoned;
    },
  };
}
