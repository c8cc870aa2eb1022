import { type ErrorCode, errorBody, errorHeaders, errorTable } from "@inference/protocol/errors";
import { commonHeaders } from "./every-request.ts";

/** An error response for input that is no HTTP request, or has no usable address. */
export type Malformed = { status: number; headers: Record<string, string>; body: string };

export function malformed(requestId: string, code: ErrorCode, message: string): Malformed {
  const headers = {
    "content-type": "application/json",
    ...commonHeaders(requestId),
    ...errorHeaders({ code, message }),
  };
  return { status: errorTable[code].status, headers, body: JSON.stringify(errorBody({ code, message })) };
}
