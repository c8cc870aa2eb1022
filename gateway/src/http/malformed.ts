import { type ErrorCode, errorBody, errorHeaders, errorTable } from "@inference/protocol/errors";
import { commonHeaders } from "./every-request.ts";

/** An error as all others are, where there is no request to be answered: what came is no HTTP, or has no address. */
export type Malformed = { status: number; headers: Record<string, string>; body: string };

export function malformed(requestId: string, code: ErrorCode, message: string): Malformed {
  const headers = {
    "content-type": "application/json",
    ...commonHeaders(requestId),
    ...errorHeaders({ code, message }),
  };
  return { status: errorTable[code].status, headers, body: JSON.stringify(errorBody({ code, message })) };
}
