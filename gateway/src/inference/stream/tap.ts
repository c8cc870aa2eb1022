import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { Order } from "../requests/order.ts";
import type { AnswerWriter, Charged } from "./answer-writer.ts";
import { createSseTap, type SseFault, type SseTapResult } from "./sse-tap.ts";
import { chargedFor } from "./usage-json.ts";
import { writingRelay } from "./writing-relay.ts";

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
export type WholeTap = Omit<Tap, "end" | "events"> & { end(): undefined } & Required<Pick<Tap, "last">>;

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
    end() {
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

/**
 * The tap of a chat stream. Content passes byte for byte. The provider's usage and errors are read, and the client gets
 * ours instead.
 *
 * @param secrets Our keys at the provider, which never pass.
 * @param writer Writes the events in the shape of another API; null: they pass as they come.
 * @param sign Signs the receipt of a charge for the usage that the client sees; null if it has none.
 */
export function eventTap(
  { includeUsage = false, quote }: Pick<Order, "includeUsage" | "quote">,
  secrets: SecretFilter,
  writer: AnswerWriter | null = null,
  sign: (costNanoUsd: NanoUsd) => string | null = () => null,
): Tap {
  const options = {
    includeUsage,
    secrets,
    charged: (answer: Pick<SseTapResult, "usage" | "delivered">) => withReceipt(chargedFor(quote, answer), sign),
    errorBody: faultBody,
    ...(quote.bound === undefined ? {} : { bound: quote.bound }),
  };
  const tap = createSseTap(options, writer === null ? undefined : writingRelay(writer));
  let result: SseTapResult = tap.result();
  let ended = false;
  return {
    push(chunk) {
      const passed = tap.push(chunk);
      result = tap.result();
      return passed;
    },
    end(cut) {
      const rest = tap.end(cut);
      result = tap.result();
      ended = true;
      return rest;
    },
    state() {
      if (result.fault !== null) return result.fault.kind === "cut" ? "open" : "failed";
      return result.done || (ended && result.complete) ? "done" : "open";
    },
    fault() {
      if (result.fault === null || result.fault.kind === "cut") return null;
      return result.fault.kind === "provider_error" ? "error" : "malformed";
    },
    events: {
      held: () => writer?.length() ?? 0,
      error(body) {
        writer?.fail(body.error);
        return encoder.encode(writer?.take() ?? `data: ${JSON.stringify(body)}\n\n`);
      },
      keepAlive: () => encoder.encode(writer?.keepAlive() || KEEP_ALIVE),
    },
    reported() {
      const { usage, malformedUsage, beyond, costNanoUsd } = result;
      const rest = {
        ...(beyond === undefined ? {} : { beyond }),
        ...(costNanoUsd === undefined ? {} : { costNanoUsd }),
      };
      return { usage, malformedUsage, ...rest };
    },
    delivered: () => result.delivered,
    upstreamId: () => result.upstreamId,
    model: () => result.model,
  };
}

/** @param sign Returns null for a charge without a receipt. */
export function withReceipt(charged: Charged, sign: (costNanoUsd: NanoUsd) => string | null): Charged {
  const receipt = sign(charged.costNanoUsd);
  return receipt === null ? charged : { ...charged, receipt };
}

const encoder = new TextEncoder();
const KEEP_ALIVE = ": keep-alive\n\n";

function faultBody(fault: SseFault): ErrorBody {
  if (fault.kind === "unwritable") {
    const message = "The provider's answer has content that this API cannot carry. Use POST /v1/chat/completions.";
    return errorBody({ code: "upstream_error", message });
  }
  if (fault.kind !== "provider_error") {
    return errorBody({ code: "upstream_error", message: "The provider's answer cannot be read from here on." });
  }
  const said = JSON.stringify(fault.error) ?? "";
  if (/content_(filter|blocked|policy)/i.test(said)) {
    return errorBody({ code: "content_policy_violation", message: "The provider's content policy ended the answer." });
  }
  if (/context.?(length|window)|prompt is too long/i.test(said)) {
    return errorBody({ code: "context_length_exceeded", message: "The request is too long for the model's context." });
  }
  if (/overloaded|capacity|rate.?limit/i.test(said)) {
    return errorBody({ code: "upstream_unavailable", message: "The provider is overloaded. Retry later." });
  }
  return errorBody({ code: "upstream_error", message: "The provider reported an error." });
}
