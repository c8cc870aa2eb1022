import * as errors from "./errors.ts";
import { cut, type Exchange, providerHeaders, sendAnswer, sendText, sleep } from "./exchange.ts";
import { FAULTS } from "./faults.ts";

const LARGE_ERROR_BYTES = 10 * 1024 * 1024;
const MAX_ENDLESS_HEADERS = 100_000;

/** Answers that stand in place of the real one. */
const ANSWERS: Readonly<Record<string, errors.WireAnswer>> = {
  "400-schema": errors.schemaError("type", "Invalid enum value", "invalid_union"),
  "400-openai": errors.openaiError("The messages are too long.", "messages", "context_length_exceeded"),
  "400-provider": { status: 400, body: { error: "The model refused the request.", request_id: "req-upstream-1" } },
  "401": errors.AUTHENTICATION_FAILED,
  "401-model": errors.PRO_ONLY_MODEL,
  "402-balance": errors.INSUFFICIENT_BALANCE,
  "402-key-limit": errors.USD_LIMIT_EXCEEDED,
  "402-diem-limit": errors.DIEM_LIMIT_EXCEEDED,
  "402-wallet": errors.WALLET_LOW,
  "403": errors.plainError(403, "This model is not available in your region"),
  "403-flagged": errors.PROMPT_FLAGGED,
  "404": errors.modelNotFound(null),
  "409": errors.plainError(409, "Another request is in progress"),
  "410": errors.plainError(410, "This model has been retired and can no longer be routed"),
  "413": errors.PAYLOAD_TOO_LARGE,
  "415": errors.plainError(415, "Unsupported media type"),
  "422": errors.CONTENT_POLICY,
  "422-fields": errors.FIELD_ERRORS,
  "429": errors.RATE_LIMITED,
  "429-retry-after": errors.MODEL_OVERLOADED,
  // A block that is over at once: the next requests have other faults.
  "429-budget": { ...errors.errorBudgetSpent(20), headers: { "retry-after": "0" } },
  "500": errors.INFERENCE_FAILED,
  "502": errors.plainError(502, "The upstream model returned an error"),
  "503": errors.AT_CAPACITY,
  "503-offline": errors.MODEL_OFFLINE,
  "504": errors.REQUEST_TIMEOUT,
};

/** True when the fault has taken the place of the answer. The caller bills what is left of the work: nothing, unless
 *  the client gave up waiting, which is an abort like any other. */
export async function runEarlyFault(x: Exchange, fault: string | null): Promise<boolean> {
  if (fault === null) return false;
  const stage = FAULTS[fault]?.stage;
  if (stage !== "answer" && stage !== "socket") return false;
  const answer = ANSWERS[fault];
  if (answer !== undefined) sendAnswer(x, answer);
  else await runSpecial(x, fault);
  return true;
}

async function runSpecial(x: Exchange, fault: string): Promise<void> {
  switch (fault) {
    case "401-key-in-body":
      return sendAnswer(x, errors.plainError(401, `Authentication failed for key ${x.key?.secret ?? ""}`));
    case "500-large":
      return sendText(x, 500, providerHeaders(x, "application/json", null), largeError());
    case "html-200":
      return sendText(
        x,
        200,
        providerHeaders(x, "text/html; charset=utf-8", null),
        "<html><body>Welcome</body></html>",
      );
    case "204":
      x.record.status = 204;
      x.response.writeHead(204, providerHeaders(x, null, null)).end();
      return;
    case "redirect":
      return sendText(x, 307, [...providerHeaders(x, null, null), "location", "http://127.0.0.1:9/api/v1/"], "");
    case "hang-before-headers":
      if (await sleep(x, x.sim.settings.maxHangMs)) cut(x, "rst");
      return;
    case "reset-before-headers":
      return cut(x, "rst");
    case "fin-before-headers":
      return cut(x, "fin");
    case "endless-headers":
      return endlessHeaders(x);
  }
}

function largeError(): string {
  return JSON.stringify({ error: "Inference processing failed", details: "x".repeat(LARGE_ERROR_BYTES) });
}

async function endlessHeaders(x: Exchange): Promise<void> {
  const { socket } = x.response;
  // From here on the bytes are ours: the HTTP layer would insist on ending its headers.
  socket?.write("HTTP/1.1 200 OK\r\n");
  for (let i = 0; i < MAX_ENDLESS_HEADERS; i++) {
    if (!(await sleep(x, 2)) || socket === null || socket.destroyed) break;
    socket.write(`x-endless-${i}: ${"x".repeat(100)}\r\n`);
  }
  cut(x, "rst");
}
