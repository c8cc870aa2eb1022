import { fail, GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { RequestBody } from "../inference/request.ts";
import { parseJsonBody, parseObject } from "../inference/requests/parse-json-body.ts";
import { readLargeJson } from "../inference/requests/read-large-json.ts";
import { makeBlocks } from "../inference/requests/write-json.ts";
import { joinBytes } from "../join-bytes.ts";
import type { Sender } from "../limits/held-bodies.ts";
import type { GatewayContext } from "./context.ts";
import type { SenderProof } from "./sender-proof.ts";

/**
 * A request's body as JSON, read within a limit and a time. Above `parsedBodyBytes` it is parsed in a turn of its own,
 * above `smallBodyBytes` in pieces. Errors: 415 for another media type or an encoded body, 413 above the limit, 408 for
 * a body that does not come, 503 where memory is short, 400 for what is not JSON in UTF-8.
 *
 * @param proof Asked for before a body of more than `unprovenBodyBytes` is parsed, and before anything is read while
 *   memory is scarce.
 */
export async function readJsonBody(
  context: GatewayContext,
  maxBytes: number,
  proof: SenderProof,
): Promise<RequestBody> {
  const chunks = await readBytes(context, maxBytes, proof);
  const { credential, gateway } = context.var;
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const owner = credential?.partition ?? "";
  if (length > limits.smallBodyBytes) return gateway.slicedWork.run(owner, readLargeJson(chunks));
  const text = decode(joinBytes(chunks));
  if (length <= limits.parsedBodyBytes) return { value: parseJsonBody(text), texts: null };
  // It is validated in the same turn.
  return { value: await gateway.slicedWork.run(owner, parseObject(text)), texts: null };
}

/** The text of a small one, which is not parsed. */
export async function readJsonText(context: GatewayContext, maxBytes: number): Promise<string> {
  return decode(joinBytes(await readBytes(context, maxBytes, null)));
}

async function readBytes(context: GatewayContext, maxBytes: number, proof: SenderProof | null): Promise<Uint8Array[]> {
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
  if (!(announced <= limits.smallBodyBytes)) return readCounting(context, maxBytes, proof);
  const proven = proof?.require(announced);
  if (proven !== undefined) await proven;
  return [new Uint8Array(await readAnnounced(context, announced))];
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("invalid_request", "The body is not valid UTF-8.");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A small body of known length. */
function readAnnounced(context: GatewayContext, length: number): Promise<ArrayBuffer> {
  context.get("held").take(length, senderOf(context));
  // Read past the router, which would keep the bytes for as long as the request takes.
  return withinTime(context, context.req.raw.arrayBuffer().catch(brokenOff));
}

/**
 * A large body, or one of unknown length: counted as it comes, so that announcing bytes takes no memory, and gathered
 * in blocks, so that bytes that come one by one take no more than others.
 */
async function readCounting(
  context: GatewayContext,
  maxBytes: number,
  proof: SenderProof | null,
): Promise<Uint8Array[]> {
  const reader = context.req.raw.body?.getReader();
  if (reader === undefined) return [];
  const held = context.get("held");

  async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array[]> {
    const blocks = makeBlocks();
    let length = 0;
    for (;;) {
      const proven = proof?.require(length);
      if (proven !== undefined) {
        await proven;
        // What was read so far counts as whose it is seen to be.
        held.take(0, senderOf(context));
      }
      const { done, value } = await reader.read().catch(brokenOff);
      if (done) return blocks.end();
      length += value.length;
      if (length > maxBytes) tooLarge(maxBytes);
      held.take(value.length, senderOf(context));
      blocks.append(value);
    }
  }

  try {
    return await withinTime(context, readAll(reader));
  } catch (error) {
    // Whatever comes yet is nobody's: the loop above ends with it.
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/** A credential that was not seen to be good speaks for itself alone: its owner may have revoked it. */
function senderOf(context: GatewayContext): Sender {
  const credential = context.get("credential");
  if (credential === undefined) return { name: context.get("client") ?? "somebody", hasCredential: false };
  const { partition, payer } = credential;
  return { name: context.get("gateway").seen.isGood(payer.digest) ? partition : payer.digest, hasCredential: true };
}

/** One deadline for a whole body: who sends a byte now and then does not move it. */
function withinTime<T>(context: GatewayContext, reading: Promise<T>): Promise<T> {
  const { environment, config } = context.get("gateway");
  const { bodyReadMs } = config.request;
  return new Promise<T>((resolve, reject) => {
    const timer = environment.timers.after(bodyReadMs, () => {
      const message = `The request body did not arrive within ${bodyReadMs / 1000} s. Send it again.`;
      reject(new GatewayError({ code: "request_timeout", message }));
    });
    reading.then(
      (read) => {
        timer.cancel();
        resolve(read);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

function brokenOff(): never {
  return fail("invalid_request", "The body broke off.");
}

function tooLarge(maxBytes: number): never {
  return fail("request_too_large", `The body is larger than ${maxBytes} bytes.`, { metadata: { max_bytes: maxBytes } });
}
