import { fail, GatewayError } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { RequestBody } from "../inference/request.ts";
import { parseJsonBody, parseWithMessages } from "../inference/requests/parse-json-body.ts";
import { readLargeJson } from "../inference/requests/read-large-json.ts";
import { bytesOf, makeBlocks } from "../inference/requests/write-json.ts";
import { joinBytes } from "../join-bytes.ts";
import type { Sender } from "../limits/held-bodies.ts";
import type { GatewayContext } from "./context.ts";
import { decodeBody, type Encoding, requireEncoding } from "./decode-body.ts";
import type { SenderProof } from "./sender-proof.ts";

/**
 * Reads a request's body as JSON, within a size and a time. A body above `parsedBodyBytes` is parsed in pieces between
 * those of other requests, and one above `smallBodyBytes` is read in pieces too. Errors: 415 for another media type or
 * encoding, 413 above the size, encoded or decoded, 408 after the time, 503 if memory is short, 400 for anything but
 * JSON in UTF-8.
 *
 * @param proof Required before a body is decoded, or of more than `unprovenBodyBytes` parsed, and while memory is
 *   scarce before anything is read.
 */
export async function readJsonBody(
  context: GatewayContext,
  maxBytes: number,
  proof: SenderProof,
): Promise<RequestBody> {
  const chunks = await readBytes(context, maxBytes, proof);
  const gateway = context.get("gateway");
  const owner = context.get("credential")?.partition ?? "";
  const length = bytesOf(chunks);
  if (length > limits.smallBodyBytes) {
    const read = await gateway.slicedWork.run(owner, readLargeJson(chunks));
    return { ...read, messages: null };
  }
  const bytes = joinBytes(chunks);
  if (length <= limits.parsedBodyBytes) {
    return { value: parseJsonBody(decode(bytes), bytes), texts: null, messages: null };
  }
  // It is validated in the same turn.
  return { ...(await gateway.slicedWork.run(owner, decodeAndParse(bytes))), texts: null };
}

/** Decodes in the first piece: a body that waits for its turn is in memory once. */
function* decodeAndParse(bytes: Uint8Array): ReturnType<typeof parseWithMessages> {
  return yield* parseWithMessages(decode(bytes), bytes);
}

/** Reads a small body as text, without parsing it. */
export async function readJsonText(context: GatewayContext, maxBytes: number): Promise<string> {
  return decode(joinBytes(await readBytes(context, maxBytes, null)));
}

async function readBytes(context: GatewayContext, maxBytes: number, proof: SenderProof | null): Promise<Uint8Array[]> {
  const { req } = context;
  const mediaType = req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/json") {
    fail("unsupported_media_type", "Send a JSON body with `Content-Type: application/json`.");
  }
  const encoding = encodingOf(context);
  const announced = Number(req.header("content-length") ?? Number.NaN);
  if (announced > maxBytes) tooLarge(maxBytes);
  const blocks =
    announced <= limits.smallBodyBytes
      ? [await readAnnounced(context, announced, proof)]
      : await readCounting(context, maxBytes, proof);
  if (encoding === null) return blocks;
  await proof?.require(maxBytes);
  return readDecoded(context, maxBytes, encoding, blocks);
}

/** The body's encoding; null if it has none. Throws 415 for one that is unknown, or that comes without a credential. */
function encodingOf(context: GatewayContext): Encoding | null {
  const name = context.req.header("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (name === "identity") return null;
  if (context.get("credential") === undefined) {
    fail("unsupported_media_type", "A request without a credential cannot have a compressed body. Send plain JSON.");
  }
  return requireEncoding(name);
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
async function readAnnounced(context: GatewayContext, length: number, proof: SenderProof | null): Promise<Uint8Array> {
  const proven = proof?.require(length);
  if (proven !== undefined) await proven;
  context.get("held").take(length, senderOf(context));
  // Not with the router's method, which would keep the bytes until the request ends.
  return new Uint8Array(await withinTime(context, context.req.raw.arrayBuffer().catch(brokenOff)));
}

/**
 * Reads a large body, or one of unknown length. Bytes count when they arrive, so announcing them takes no memory. They
 * are gathered in blocks, so single bytes take no more memory than others.
 */
async function readCounting(
  context: GatewayContext,
  maxBytes: number,
  proof: SenderProof | null,
): Promise<Uint8Array[]> {
  const { body } = context.req.raw;
  if (body === null) return [];
  const reader = body.getReader();
  const held = context.get("held");

  async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array[]> {
    const blocks = makeBlocks();
    let length = 0;
    for (;;) {
      const proven = proof?.require(length);
      if (proven !== undefined) {
        await proven;
        // The sender is known now: what was read so far counts as theirs.
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
    // Ends the loop above.
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/**
 * Decodes a body that has arrived whole when it is its sender's turn. No connection keeps a decoder while it sends, and
 * no two bodies are decoded at once.
 */
async function readDecoded(
  context: GatewayContext,
  maxBytes: number,
  encoding: Encoding,
  encoded: readonly Uint8Array[],
): Promise<Uint8Array[]> {
  const sender = senderOf(context);
  await context.get("gateway").slicedWork.turn(sender.name);
  const bytes = joinBytes(encoded);
  const decoded = decodeBody(encoding, bytes, maxBytes) ?? tooLarge(maxBytes);
  context.get("held").take(decoded.length - bytes.length, sender);
  return [decoded];
}

/** A credential that is not known to be valid counts by itself, not as its account: it may be revoked. */
function senderOf(context: GatewayContext): Sender {
  const credential = context.get("credential");
  if (credential === undefined) return { name: context.get("client") ?? "somebody", hasCredential: false };
  const { partition, payer } = credential;
  return { name: context.get("gateway").seen.isGood(payer.digest) ? partition : payer.digest, hasCredential: true };
}

/** One deadline for the whole body, whenever its bytes arrive. */
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
