import { createHash } from "node:crypto";
import type { Claimed } from "@inference/ledger/claim";
import type { Claim, CredentialFault } from "@inference/ledger/commands";
import { fail } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { InferenceRequest } from "./inference.ts";
import { credentialError } from "./refusal.ts";

/**
 * `Idempotency-Key`: of the requests with one key, to one route, out of one account, one is served and charged within a
 * day. Its key is claimed in the commit that takes its hold (`ledger/src/claim.ts`); a whole answer that is not too
 * large is kept beside it, sealed, and sent again to whoever asks the same again.
 */
export function claimOf({ at, route, body, idempotencyKey }: InferenceRequest): Claim | null {
  if (idempotencyKey === null) return null;
  return {
    id: digest(`${route.name} ${idempotencyKey}`),
    fingerprint: digest(JSON.stringify(body, sortFields)),
    expiresAt: at + limits.idempotencyMs,
  };
}

/**
 * The answer to a request that was served before, if this one is the same again: without the provider, its prices or
 * the chain, none of which it needs. Null if the request is to be served; the reserve looks once more. Throws 409 or
 * 422.
 */
export async function earlierAnswer(
  gateway: Gateway,
  { at, credential: { partition, payer } }: InferenceRequest,
  claim: Claim,
): Promise<Response | null> {
  const found: { fault: CredentialFault } | { earlier: Claimed | null } = await gateway.environment.ledger.read(
    partition,
    { type: "claimed", at, payer, claim },
  );
  if ("fault" in found) throw credentialError(payer, found.fault);
  return found.earlier === null ? null : answerClaimed(gateway, found.earlier);
}

/** Another request has the key, and this one is not to run. */
export async function answerClaimed(gateway: Gateway, { by, state }: Claimed): Promise<Response> {
  const metadata = { request_id: by };
  if (state === "in_progress") {
    const message = "A request with this Idempotency-Key is being served: try again in a second.";
    return fail("idempotency_in_progress", message, { metadata, retryAfterS: 1 });
  }
  if (state === "mismatch") {
    const message = "This Idempotency-Key was used for another body: use a new key for a new request.";
    return fail("idempotency_mismatch", message, { metadata });
  }
  return (
    (await replay(gateway, by)) ??
    fail(
      "idempotency_completed",
      `The request with this Idempotency-Key was served, and its answer is not kept: see GET /api/v1/generation?id=${by}.`,
      { metadata },
    )
  );
}

/** Keeps an answer for as long as its key is claimed, with the headers that it is sent with. */
export async function keepAnswer(
  { environment, sealer, keptBytes }: Gateway,
  { id, at, credential }: InferenceRequest,
  answer: { headers: Record<string, string>; body: string | Uint8Array },
): Promise<void> {
  const { headers, body } = answer;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  if (bytes.length > limits.replayedBytes || !keptBytes.take(credential.partition, bytes.length, at)) return;
  const name = answerName(id);
  try {
    const sealed = await sealer.seal(name, Buffer.concat([Buffer.from(`${JSON.stringify(headers)}\n`), bytes]));
    await environment.keyValue.put(name, sealed, { expiresAt: at + limits.idempotencyMs });
  } catch (error) {
    // Asked for again it is known to be paid, and cannot be sent: the answer itself leaves all the same.
    environment.log("warn", "answer_not_kept", { request: id, error: String(error) });
  }
}

/** The answer as it was sent; null if it was not kept. */
async function replay({ environment, sealer }: Gateway, requestId: string): Promise<Response | null> {
  const name = answerName(requestId);
  const sealed = await environment.keyValue.get(name);
  const kept = sealed === null ? undefined : await sealer.open(name, sealed);
  if (kept === undefined) return null;
  const end = kept.indexOf("\n".charCodeAt(0));
  const headers = JSON.parse(new TextDecoder().decode(kept.subarray(0, end))) as Record<string, string>;
  return new Response(kept.slice(end + 1), { status: 200, headers: { ...headers, "idempotent-replayed": "true" } });
}

function answerName(requestId: string): string {
  return `answer:${requestId}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Of two bodies that differ in the order of their fields, the same text. */
function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
