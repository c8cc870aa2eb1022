import { fail, GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { GatewayContext } from "./context.ts";

/**
 * A request's JSON text, read within a limit and a time. Errors: 415 for another media type or an encoded body, 413
 * above the limit, 408 for a body that does not come, 400 for bytes that are not UTF-8.
 */
export async function readJsonText(context: GatewayContext, maxBytes: number): Promise<string> {
  const { req } = context;
  const mediaType = req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    fail("unsupported_media_type", "Send a JSON body with `Content-Type: application/json`.");
  }
  const encoding = req.header("content-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    fail("unsupported_media_type", "Send the body without a Content-Encoding.");
  }
  const announced = Number(req.header("content-length") ?? Number.NaN);
  if (announced > maxBytes) tooLarge(maxBytes);
  const bytes = Number.isNaN(announced)
    ? await readLimited(context, maxBytes)
    : await withinTime(context, req.arrayBuffer());
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("invalid_request", "The body is not valid UTF-8.");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A body of unknown length: counted as it comes. */
async function readLimited(context: GatewayContext, maxBytes: number): Promise<Uint8Array> {
  const reader = context.req.raw.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await withinTime(context, reader.read());
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

function withinTime<T>(context: GatewayContext, reading: Promise<T>): Promise<T> {
  const { timers } = context.get("gateway").environment;
  return new Promise<T>((resolve, reject) => {
    const message = `The request's body did not arrive within ${limits.bodyReadMs / 1000} s.`;
    const timer = timers.after(limits.bodyReadMs, () => {
      reject(new GatewayError({ code: "request_timeout", message }));
    });
    const broken = (): void => reject(new GatewayError({ code: "invalid_request", message: "The body broke off." }));
    reading.then(resolve, broken).finally(() => timer.cancel());
  });
}

function tooLarge(maxBytes: number): never {
  return fail("request_too_large", `The body is larger than ${maxBytes} bytes.`, { metadata: { max_bytes: maxBytes } });
}
