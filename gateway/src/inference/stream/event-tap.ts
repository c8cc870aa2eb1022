import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { Order } from "../requests/order.ts";
import type { AnswerWriter, Charged } from "./answer-writer.ts";
import { createSseTap, type SseFault, type SseTapResult } from "./sse-tap.ts";
import type { Tap } from "./tap.ts";
import { chargedFor } from "./usage-json.ts";
import { writingRelay } from "./writing-relay.ts";

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
