import type { ErrorBody } from "@inference/protocol/errors";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";
import type { Charged } from "./answer-writer.ts";

/** An answer runs through a tap on its way to the client. The tap passes its bytes on, and reads what to charge. */
export type Tap = {
  /** The bytes that may be sent now, if any. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** Call it when nothing more comes. Returns the bytes to send last: an error event, if a stream was not whole. */
  end(cut: ErrorBody): Uint8Array | undefined;
  /** `done`: the answer is whole, whatever comes after. `failed`: see `fault`. An answer that was cut stays open. */
  state(): "open" | "done" | "failed";
  /** Why an answer failed: the provider said so, or it cannot be read. After an error a usage may still come. */
  fault(): "error" | "malformed" | null;
  reported(): ReportedUsage;
  delivered(): Delivered;
  upstreamId(): string | null;
  /** The model that the answer names. */
  model(): string | null;
  /** Absent if the answer is not a stream of events. */
  events?: TapEvents;
  /** The end of an answer that is done, for which its charge must be durable. Call it once. Absent for a stream. */
  last?(charged: Charged): Uint8Array;
};

type TapEvents = {
  /** An event for an error that ends the answer. */
  error(body: ErrorBody): Uint8Array;
  /** The bytes to send to a client that waits. */
  keepAlive(): Uint8Array;
  /** The bytes of the answer that are in memory until its end. */
  held(): number;
};

/** For a whole answer whose bytes are sent while they arrive. */
export type WholeTap = Omit<Tap, "events"> & Required<Pick<Tap, "last">>;

/** For audio: only the bytes are counted. It is whole when they end. */
export function audioTap(): Tap {
  let delivered = nothingDelivered;
  let ended = false;
  return {
    ...noMembers,
    push(chunk) {
      if (chunk.length > 0) delivered = { bytes: delivered.bytes + chunk.length, events: delivered.events + 1 };
      return chunk;
    },
    end(_cut) {
      ended = true;
      return undefined;
    },
    state: () => (ended && delivered.bytes > 0 ? "done" : "open"),
    delivered: () => delivered,
  };
}

/** For an image or a sound that is sent when its charge is durable. It is whole, and delivered, when its bytes end. */
export function bytesTap(): WholeTap {
  let waiting: Uint8Array | undefined;
  let bytes = 0;
  let isOver = false;
  return {
    ...noMembers,
    push(chunk) {
      if (chunk.length === 0) return undefined;
      const passed = waiting;
      waiting = chunk;
      bytes += chunk.length;
      return passed;
    },
    end(_cut) {
      isOver = true;
      return undefined;
    },
    state: () => (isOver && bytes > 0 ? "done" : "open"),
    last: () => waiting ?? new Uint8Array(),
    delivered: () => ({ bytes, events: isOver && bytes > 0 ? 1 : 0 }),
  };
}

/** The same for an image that goes on in JSON, in base64 (OpenAI's `ImagesResponse`). */
export function base64Tap(createdS: number): WholeTap {
  const bytes = bytesTap();
  let head = `{"created":${createdS},"data":[{"b64_json":"`;
  let rest: Uint8Array = new Uint8Array(0);

  function write(text: string): Uint8Array {
    const written = Buffer.from(head + text);
    head = "";
    return written;
  }

  return {
    ...bytes,
    push(chunk) {
      bytes.push(chunk);
      const all = Buffer.concat([rest, chunk]);
      // Base64 writes three bytes at a time.
      const whole = all.length - (all.length % 3);
      rest = all.subarray(whole);
      return whole === 0 ? undefined : write(all.toString("base64", 0, whole));
    },
    last: () => write(`${Buffer.from(rest).toString("base64")}"}]}`),
  };
}

const noMembers = {
  fault: () => null,
  reported: () => nothingReported,
  upstreamId: () => null,
  model: () => null,
};
