import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { Order } from "../requests/order.ts";
import { createSseTap, type SseFault, type SseTapResult } from "./sse-tap.ts";
import type { Tap } from "./tap.ts";

/**
 * The tap of a chat stream. Content passes byte for byte. The provider's usage and errors are read, and the client gets
 * ours instead.
 *
 * @param secrets Our keys at the provider, which never pass.
 */
export function eventTap({ includeUsage, quote }: Order, secrets: SecretFilter): Tap {
  const tap = createSseTap({
    includeUsage,
    secrets,
    costNanoUsd: (usage) => Math.min(quote.maxNanoUsd, quote.chargeForUsage(usage)),
    errorBody: faultBody,
    ...(quote.bound === undefined ? {} : { bound: quote.bound }),
  });
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
    saysError: () => result.fault?.kind === "provider_error",
    reported: () => ({ usage: result.usage, malformedUsage: result.malformedUsage }),
    delivered: () => result.delivered,
    upstreamId: () => result.upstreamId,
    model: () => result.model,
  };
}

function faultBody(fault: SseFault): ErrorBody {
  if (fault.kind !== "provider_error") {
    return errorBody({ code: "upstream_error", message: "The provider's answer cannot be read from here on." });
  }
  const said = JSON.stringify(fault.error) ?? "";
  if (/content_(filter|blocked|policy)/i.test(said)) {
    return errorBody({ code: "content_policy_violation", message: "The provider's content policy ended the answer." });
  }
  if (/overloaded|capacity|rate.?limit/i.test(said)) {
    return errorBody({ code: "upstream_unavailable", message: "The provider is overloaded. Retry later." });
  }
  return errorBody({ code: "upstream_error", message: "The provider reported an error." });
}
