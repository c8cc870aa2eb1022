import { fail } from "@inference/protocol/errors";
import { limits } from "../../config.ts";
import { serveInference } from "../../inference/inference.ts";
import { parseJsonBody } from "../../inference/orders/parse-json-body.ts";
import type { InferenceRoute } from "../../inference/routes.ts";
import { readJsonText } from "../body.ts";
import type { GatewayContext } from "../context.ts";
import { requireCredential } from "../credential.ts";
import { lookUpCredential } from "../identify.ts";
import { commonHeaders } from "../middleware.ts";

/** POST to one of the metered routes: the credential decides who pays. */
export function handleInference(route: InferenceRoute) {
  const maxBytes = route.name === "chat" ? limits.chatBodyBytes : limits.otherBodyBytes;
  return async function inference(context: GatewayContext): Promise<Response> {
    const credential = requireCredential(context);
    const idempotencyKey = readIdempotencyKey(context);
    const prove = () => lookUpCredential(context, credential);
    const body = parseJsonBody(await readJsonText(context, maxBytes, prove));
    // An answer kept for an agent is its owner's of today.
    if (idempotencyKey !== null && credential.payer.kind === "session") await prove();
    const id = context.get("requestId");
    const response = await serveInference(context.get("gateway"), {
      id,
      at: context.get("at"),
      route,
      credential,
      body,
      idempotencyKey,
      clientGone: context.req.raw.signal,
      headers: commonHeaders(id),
    });
    context.set("hasCommonHeaders", true);
    return response;
  };
}

/** The client's own name for the request, if it has given one. */
function readIdempotencyKey(context: GatewayContext): string | null {
  const key = context.req.header("idempotency-key");
  if (key === undefined || /^[\x20-\x7e]{1,255}$/.test(key)) return key ?? null;
  const message = "`Idempotency-Key` must be 1 to 255 printable ASCII characters.";
  return fail("invalid_request", message, { param: "Idempotency-Key" });
}
