import { createHash } from "node:crypto";
import type { Claimed } from "@inference/ledger/claim";
import type { Claim, CredentialFault } from "@inference/ledger/commands";
import { fail } from "@inference/protocol/errors";
import { credentialError } from "../../auth/known-credential.ts";
import { limits } from "../../config.ts";
import type { Gateway } from "../../gateway.ts";
import type { InferenceRequest } from "../request.ts";

/**
 * `Idempotency-Key`: of all requests of an account with the same key to the same endpoint, one is served and charged
 * within a day. The key is claimed in the commit that takes the hold (`ledger/src/claim.ts`). A whole answer that is
 * not too large is kept, sealed, and sent again if the request is repeated.
 */
export function claimOf(
  { at, route, idempotencyKey, paid }: InferenceRequest,
  fingerprint: string | null,
): Claim | null {
  if (fingerprint === null) return null;
  const expiresAt = at + limits.idempotencyMs;
  // A payment serves one request of all endpoints. No payment is valid for longer than its claim.
  if (paid !== null)
    return { id: digest(`x402 ${paid.id}`), fingerprint: digest(`${route.name} ${fingerprint}`), expiresAt };
  return idempotencyKey === null ? null : { id: digest(`${route.name} ${idempotencyKey}`), fingerprint, expiresAt };
}

/**
 * The kept answer, if the same request was served before. It needs neither the provider nor prices nor the chain. Null
 * if the request is to be served; the reserve checks the claim again. Throws 409 or 422.
 */
export async function earlierAnswer(
  gateway: Gateway,
  request: InferenceRequest,
  claim: Claim,
): Promise<Response | null> {
  const { at, credential, paid } = request;
  const { partition, payer } = credential;
  const found: { fault: CredentialFault } | { earlier: Claimed | null } = await gateway.environment.ledger.read(
    partition,
    { type: "claimed", at, payer, claim },
  );
  // The first payment of an account makes its key.
  if ("fault" in found && found.fault === "unknown" && paid?.hasKey === false) return null;
  if ("fault" in found) throw credentialError(payer, found.fault);
  return found.earlier === null ? null : answerClaimed(gateway, request, found.earlier);
}

/** The response to a request whose key another request has claimed. Throws 409 or 422. */
export async function answerClaimed(
  gateway: Gateway,
  request: InferenceRequest,
  { by, state }: Claimed,
): Promise<Response> {
  const metadata = { request_id: by };
  const name = request.paid === null ? "Idempotency-Key" : "payment";
  if (state === "in_progress") {
    const message = `A request with this ${name} is in progress. Retry in a second.`;
    return fail("idempotency_in_progress", message, { metadata, retryAfterS: 1 });
  }
  if (state === "mismatch") {
    const message =
      request.paid === null
        ? "This Idempotency-Key was used with another body. Use a new key for a new request."
        : "This payment has paid another request. What was left of it is the payer's balance: make a key with POST /api/v1/keys, or pay anew.";
    return fail("idempotency_mismatch", message, { metadata });
  }
  return (
    (await replay(gateway, request, by)) ??
    fail(
      "idempotency_completed",
      `The request with this ${name} has completed, and its answer is not stored. See GET /api/v1/generation?id=${by}.`,
      { metadata },
    )
  );
}

/**
 * Keeps a gathered answer and its headers for as long as its key is claimed. The provider sent at most
 * `limits.gatheredAnswerBytes` of it. Sealing a large answer takes milliseconds, and so does storing it: each takes a
 * turn of its own. Never throws.
 */
export async function keepAnswer(
  { environment, sealer, keptBytes, turns }: Gateway,
  { id, at, credential: { partition } }: InferenceRequest,
  answer: { headers: Record<string, string>; body: string | Uint8Array },
): Promise<void> {
  const { headers, body } = answer;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  if (!keptBytes.take(partition, bytes.length, at)) return;
  const name = answerName(id);
  const seal = (): string =>
    sealer.seal(name, Buffer.concat([Buffer.from(`${JSON.stringify(headers)}\n`), bytes])).toString("base64");
  const put = (sealed: string): Promise<void> =>
    environment.keyValue.put(name, sealed, { expiresAt: at + limits.idempotencyMs });
  try {
    if (bytes.length <= limits.smallAnswerBytes) await put(seal());
    else {
      await turns.wait(partition);
      const sealed = seal();
      await turns.wait(partition);
      await put(sealed);
    }
  } catch (error) {
    // The answer is sent all the same. A repeated request then gets `idempotency_completed`.
    environment.log("warn", "answer_not_kept", { request: id, error: String(error) });
  }
}

/**
 * The kept answer; null if the answer was not kept. Until it is sent it counts as its account's, as any answer does.
 * Each step takes a turn of its own. Throws 429 or 503 for an account that leaves answers unread.
 */
async function replay(
  { environment, sealer, turns, answerMemory }: Gateway,
  { credential: { partition }, whenSent }: InferenceRequest,
  requestId: string,
): Promise<Response | null> {
  answerMemory.admit(partition);
  const name = answerName(requestId);
  await turns.wait(partition);
  const sealed = await environment.keyValue.get(name);
  if (sealed === null) return null;
  await turns.wait(partition);
  const kept = sealer.open(name, Buffer.from(sealed, "base64"));
  if (kept === undefined) return null;
  const end = kept.indexOf("\n".charCodeAt(0));
  const headers = JSON.parse(kept.toString("utf8", 0, end)) as Record<string, string>;
  const body = kept.subarray(end + 1) as Uint8Array<ArrayBuffer>;
  const held = answerMemory.open(partition);
  held.set(body.length);
  held.releaseWhen(whenSent);
  return new Response(body, { status: 200, headers: { ...headers, "idempotent-replayed": "true" } });
}

function answerName(requestId: string): string {
  return `answer:${requestId}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
