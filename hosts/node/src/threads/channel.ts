import type { MessagePort, Worker } from "node:worker_threads";
import { SettingsError } from "@inference/gateway/settings";
import { LedgerUnavailable } from "@inference/ledger/client";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";

/** Calls between two threads. What is said in one turn of the event loop is one message. */
export type Channel = {
  /** Calls the other side's handler, and resolves with its result. */
  call<T>(name: string, ...args: readonly unknown[]): Promise<T>;
  /** Calls it without waiting for anything. */
  tell(name: string, ...args: readonly unknown[]): void;
  /** The same for what is not urgent: it goes with the next message, or after `MENTION_MS` in one of its own. */
  mention(name: string, ...args: readonly unknown[]): void;
  /** The other side has ended: rejects the calls that wait, and all later ones. */
  end(error: Error): void;
};

/** A message wakes the other thread, which costs more than what is in it. */
const MENTION_MS = 20;

/** By name. A result may be a promise. */
export type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A worker, or the port to the thread that started it. */
type Port = Worker | MessagePort;

type Message =
  | readonly [kind: "tell", name: string, args: readonly unknown[]]
  | readonly [kind: "call", id: number, name: string, args: readonly unknown[]]
  | readonly [kind: "result", id: number, value: unknown]
  | readonly [kind: "error", id: number, error: SentError];

type SentError = { name: string; message: string; detail?: ErrorDetail };

export function openChannel(port: Port, handlers: Handlers): Channel {
  const waiting = new Map<number, { resolve(value: never): void; reject(error: unknown): void }>();
  let unsent: Message[] = [];
  let isFlushing = false;
  let timer: NodeJS.Timeout | undefined;
  let lastId = 0;
  let ended: Error | undefined;

  function send(message: Message): void {
    unsent.push(message);
    if (isFlushing) return;
    isFlushing = true;
    setImmediate(flush);
  }

  function mention(message: Message): void {
    unsent.push(message);
    timer ??= setTimeout(flush, MENTION_MS);
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    isFlushing = false;
    const messages = unsent;
    unsent = [];
    if (messages.length > 0) port.postMessage(messages);
  }

  function handle(name: string, args: readonly unknown[]): unknown {
    const handler = ownValue(handlers, name);
    if (handler === undefined) throw new Error(`there is no ${name} in this thread`);
    return handler(...(args as never[]));
  }

  async function answer(id: number, name: string, args: readonly unknown[]): Promise<void> {
    try {
      send(["result", id, await handle(name, args)]);
    } catch (error) {
      send(["error", id, toSent(error)]);
    }
  }

  (port as MessagePort).on("message", (messages: readonly Message[]) => {
    for (const message of messages) {
      switch (message[0]) {
        case "tell":
          handle(message[1], message[2]);
          break;
        case "call":
          void answer(message[1], message[2], message[3]);
          break;
        default: {
          const [kind, id, value] = message;
          const caller = waiting.get(id);
          waiting.delete(id);
          if (kind === "result") caller?.resolve(value as never);
          else caller?.reject(toError(value));
        }
      }
    }
  });

  return {
    call: (name, ...args) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended);
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        send(["call", lastId, name, args]);
      }),
    tell: (name, ...args) => send(["tell", name, args]),
    mention: (name, ...args) => mention(["tell", name, args]),
    end(error) {
      ended = error;
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}

function toSent(error: unknown): SentError {
  if (error instanceof GatewayError) return { name: error.name, message: error.message, detail: error.detail };
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: "Error", message: String(error) };
}

/** The errors that somebody tells apart keep their class. */
function toError({ name, message, detail }: SentError): Error {
  if (detail !== undefined) return new GatewayError(detail);
  if (name === "LedgerUnavailable") return new LedgerUnavailable(message);
  if (name === "ChainUnavailable") return new ChainUnavailable(message);
  if (name === "SettingsError") return new SettingsError(message);
  return new Error(message);
}
