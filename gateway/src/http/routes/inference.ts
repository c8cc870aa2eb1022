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
    refuseIdempotencyKey(context);
    const prove = () => lookUpCredential(context, credential);
    const body = parseJsonBody(await readJsonText(context, maxBytes, prove));
    const id = context.get("requestId");
    const response = await serveInference(context.get("gateway"), {
      id,
      at: context.get("at"),
      route,
      credential,
      body,
      clientGone: context.req.raw.signal,
      headers: commonHeaders(id),
    });
    context.set("hasCommonHeaders", true);
    return response;
  };
}

/** Who sends one relies on not paying twice, which nothing here would see to: better to say so than to ignore it. */
function refuseIdempotencyKey(context: GatewayContext): void {
  if (context.req.header("idempotency-key") === undefined) return;
  const message =
    "`Idempotency-Key` is not supported yet: leave the header out. The same request sent again is paid again.";
  fail("unsupported_parameter", message, { param: "Idempotency-Key" });
}
