import type { TraceContext } from "../tracing.ts";

/** Version 00, and neither id zero. The header of a later version is not passed on. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_STATE_CHARACTERS = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * The place in a trace that a client's headers name; null if they name none that is well formed. The headers go to the
 * provider, so they are checked character by character. A malformed `tracestate` alone is left out.
 */
export function readTraceContext(header: (name: string) => string | undefined): TraceContext | null {
  const traceparent = header("traceparent");
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return null;
  const state = header("tracestate");
  return { traceparent, tracestate: state !== undefined && isState(state) ? state : null };
}

function isState(state: string): boolean {
  if (state.length > MAX_STATE_CHARACTERS) return false;
  const members = state.split(",").map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ""));
  return members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
}
