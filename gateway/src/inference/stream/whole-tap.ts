import { nothingReported } from "../../pricing/usage.ts";
import { createJsonTap, type JsonTap, type JsonTapOptions } from "./json-tap.ts";

/** The tap of a whole answer. The end is in `last` only, to be sent once the charge is durable. */
export type WholeTap = JsonTap & {
  /** Call it when nothing more comes. */
  end(): void;
};

export function jsonTap(options: JsonTapOptions): WholeTap {
  return { ...createJsonTap(options), end: () => undefined };
}

/** For an image or a sound, which is not parsed. It is whole, and delivered, when its bytes end. */
export function bytesTap(): WholeTap {
  let waiting: Uint8Array | undefined;
  let bytes = 0;
  let isOver = false;
  return {
    push(chunk) {
      if (chunk.length === 0) return undefined;
      const passed = waiting;
      waiting = chunk;
      bytes += chunk.length;
      return passed;
    },
    end() {
      isOver = true;
    },
    state: () => (isOver && bytes > 0 ? "done" : "open"),
    fault: () => null,
    last: () => waiting ?? new Uint8Array(),
    reported: () => nothingReported,
    delivered: () => ({ bytes, events: isOver && bytes > 0 ? 1 : 0 }),
    elements: () => 0,
    upstreamId: () => null,
    model: () => null,
  };
}
