import { type ErrorCode, errorTable } from "@inference/protocol/errors";

/**
 * The status of an error on the Responses API. Codex ends its turn at a 429 and does not show the error's message. It
 * tries again after a 503, and shows the message at the end. So a 429 that ends within seconds is a 503 there. One that
 * takes longer stays 429: the turn ends at once, and Codex names the status.
 *
 * @param retry What `x-should-retry` says.
 */
export function responsesStatus(code: ErrorCode, retry: boolean): (typeof errorTable)[ErrorCode]["status"] {
  const { status } = errorTable[code];
  return status === 429 && retry ? 503 : status;
}

/** The statuses that an error can have on the Responses API. */
export function responsesStatuses(code: ErrorCode): readonly number[] {
  return [...new Set([responsesStatus(code, true), responsesStatus(code, false)])];
}
