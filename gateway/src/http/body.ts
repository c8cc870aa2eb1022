import { fail, GatewayError } from "@inference/protocol/errors";
import type * as z from "zod";
import { joinBytes } from "../bytes.ts";
import { limits } from "../config.ts";
import type { Sender } from "../load/body-memory.ts";
import { makeBodyBlocks } from "./body-blocks.ts";
import type { GatewayContext } from "./context.ts";
import { decodeBody, type Encoding, requireEncoding } from "./decode-body.ts";
import { parseJsonBody } from "./json/parse-json-body.ts";
import { validate } from "./json/validate.ts";
import { parseKeepingDigits } from "./money.ts";

/** Proves that a body's sender is known and, while memory is scarce, can pay. */
export type SenderProof = {
  /** Throws 401 or 403 unless the credential is valid now. */
  prove(): Promise<void>;
  /**
   * Proves what is needed to read and parse so many bytes; undefined if nothing is left to prove. Throws as `prove`,
   * and 503 `overloaded` for a sender without funds while memory is scarce.
   */
  require(bytes: number): Promise<void> | undefined;
};

/**
 * Reads a request's body in blocks, within a size and a time. Errors: 415 for another media type than expected or an
 * unknown encoding, 413 above the size, encoded or decoded, 408 after the time, 503 if memory is short.
 *
 * @param proof Required before a body is decoded, or of more than `unprovenBodyBytes` read, and while memory is scarce
 *   before anything is read.
 */
export async function readBody(
  context: GatewayContext,
  maxBytes: number,
  proof: SenderProof | null,
  type: BodyType = "json",
): Promise<Uint8Array[]> {
  const { req } = context;
  const mediaType = mediaTypeOf(context);
  if (!bodyTypes[type].some((each) => each === mediaType)) fail("unsupported_media_type", wanted[type]);
  const encoding = encodingOf(context);
  const announced = Number(req.header("content-length") ?? Number.NaN);
  if (announced > maxBytes) tooLarge(maxBytes);
  const blocks =
    announced <= limits.smallBodyBytes
      ? [await readAnnounced(context, announced, proof)]
      : await readCounting(context, maxBytes, proof);
  if (encoding === null) return blocks;
  await proof?.require(maxBytes);
  return [await readDecoded(context, maxBytes, encoding, joinBytes(blocks))];
}

/** The body that a route takes. */
export type BodyType = "json" | "form" | "json or form";

const FORM = "multipart/form-data";
/** The media types of a body. */
export const bodyTypes = {
  json: ["application/json"],
  form: [FORM],
  "json or form": ["application/json", FORM],
} as const;
const wanted = {
  json: "Send a JSON body with `Content-Type: application/json`.",
  form: `Send a form with \`Content-Type: ${FORM}\`.`,
  "json or form": `Send a JSON body with \`Content-Type: application/json\`, or a form with \`${FORM}\`.`,
};

/** The `Content-Type` of a body that is a form; undefined for any other. */
export function formTypeOf(context: GatewayContext): string | undefined {
  return mediaTypeOf(context) === FORM ? context.req.header("content-type") : undefined;
}

export function mediaTypeOf({ req }: GatewayContext): string | undefined {
  return req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
}

/**
 * The body's encoding; null if it has none. Throws 415 for an unknown encoding, and for any encoding without a
 * credential.
 */
function encodingOf(context: GatewayContext): Encoding | null {
  const name = context.req.header("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (name === "identity") return null;
  if (context.get("credential") === undefined) {
    fail("unsupported_media_type", "A request without a credential cannot have a compressed body. Send plain JSON.");
  }
  return requireEncoding(name);
}

/** Reads a small body, which nothing has to be proven for. */
async function readSmallBody(context: GatewayContext): Promise<Uint8Array> {
  return joinBytes(await readBody(context, limits.authBodyBytes, null));
}

/** Reads and validates a small JSON body. */
export async function readSmall<T>(context: GatewayContext, schema: z.ZodType<T>): Promise<T> {
  return validate(schema, parseJsonBody(await readSmallBody(context)));
}

/** Reads a small JSON body. The numbers under `fields` stay text, with their original digits. */
export async function readDollarBody(context: GatewayContext, fields: readonly string[]): Promise<unknown> {
  const bytes = await readSmallBody(context);
  parseJsonBody(bytes);
  return parseKeepingDigits(new TextDecoder().decode(bytes), fields);
}

/** A small body of known length. */
async function readAnnounced(context: GatewayContext, length: number, proof: SenderProof | null): Promise<Uint8Array> {
  const proven = proof?.require(length);
  if (proven !== undefined) await proven;
  context.get("held").take(length, senderOf(context));
  // Not with the router's method, which would keep the bytes until the request ends.
  return new Uint8Array(await withinTime(context, context.req.raw.arrayBuffer().catch(brokenOff)));
}

/**
 * Reads a large body, or one of unknown length. Bytes count when they arrive, so announcing them takes no memory.
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
    const blocks = makeBodyBlocks();
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
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const sender = senderOf(context);
  const decode = () => decodeBody(encoding, bytes, maxBytes);
  const decoded = (await context.get("gateway").turns.run(sender.name, decode)) ?? tooLarge(maxBytes);
  context.get("held").take(decoded.length - bytes.length, sender);
  return decoded;
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
