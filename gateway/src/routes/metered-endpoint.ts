import { OTHER_TAG } from "@inference/ledger/totals";
import { type ErrorCode, errorTable, fail, GatewayError } from "@inference/protocol/errors";
import { makeRequestId } from "@inference/protocol/id";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { RequestLimits } from "../config.ts";
import type { NamedSchema, Operation } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { type BodyType, bodyTypes, formTypeOf, readBody, type SenderProof } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import { requireCredential } from "../http/credential.ts";
import { commonHeaders } from "../http/every-request.ts";
import { refusesCredential } from "../http/identify.ts";
import { openWebOutlet } from "../http/outlet.ts";
import { CredentialProof } from "../inference/admission/sender-proof.ts";
import type { InferenceRequest, InferenceRoute } from "../inference/request.ts";
import { serveInference } from "../inference/serve.ts";
import { paidRequestOf } from "../top-up/paid-request.ts";
import { paymentRequired, withTopUp } from "../top-up/required.ts";
import { PAYMENT_RESPONSE, PAYMENT_SIGNATURE } from "../top-up/x402.ts";
import { apiPrefixes, type Endpoint, type EndpointHandler, endpoint } from "./endpoint.ts";
import { meteredErrors } from "./endpoint-errors.ts";

/** A metered endpoint's declaration: documentation, schemas, and the facts that the request path needs. */
type MeteredDeclaration = Pick<InferenceRoute, "name" | "parse"> &
  Partial<InferenceRoute> &
  Pick<Operation, "path" | "id" | "title" | "about" | "answers" | "errorSchema" | "errorStatuses"> & {
    body: NamedSchema;
    /** JSON if absent. */
    bodyType?: BodyType;
    /** The setting that limits the body's size; `otherBodyBytes` if absent. */
    bodyLimit?: BodyLimit;
    /** Errors that other metered endpoints do not have. */
    errors?: readonly ErrorCode[];
  };
type BodyLimit = keyof Pick<RequestLimits, "chatBodyBytes" | "otherBodyBytes">;

/**
 * Declares a `POST` of the inference API. It is charged to the credential's account or identity, and has a receipt. If
 * the declaration says nothing else, the answer is read whole and is bytes only.
 */
export function meteredEndpoint(declaration: MeteredDeclaration): Endpoint {
  const { name, parse, passesThrough = false, content = null, answerFields = [], ...documented } = declaration;
  const { bodyType = "json", bodyLimit = "otherBodyBytes", errors = [], ...operation } = documented;
  const route = { name, parse, passesThrough, content, answerFields };
  return endpoint({
    ...operation,
    method: "POST",
    prefixes: apiPrefixes,
    group: "Inference",
    credentials: ["API key", "session"],
    headers,
    bodyMediaTypes: bodyTypes[bodyType],
    errors: [...meteredErrors, ...errors],
    parser: route,
    metered: route,
    handle: handleInference(route, { bodyLimit, bodyType }),
  });
}

const headers = {
  [PAYMENT_SIGNATURE]:
    "An x402 payment (version 2, scheme `exact`) in place of a credential, where a 402 has the header PAYMENT-REQUIRED. " +
    "It becomes the balance of its signer, and the request is paid from that. One payment serves one request.",
  "Idempotency-Key":
    "A name of your choice for the request, 1 to 255 printable ASCII characters. Retries within 24 hours are charged " +
    "once. All keys of an account share the names of each endpoint: two programs of one account need different ones.",
  "X-Title":
    "A tag of your choice, such as a project's name: 1 to 64 printable ASCII characters without `;`, not beginning " +
    "with one of `=+-@`, and not `other`. The receipt shows it, and GET /api/v1/activity groups by it. Any other title is ignored, and named in " +
    "`x-ignored-parameters`.",
};

/** Serves a request. Its credential decides who pays. */
function handleInference(
  route: InferenceRoute,
  { bodyLimit, bodyType }: { bodyLimit: BodyLimit; bodyType: BodyType },
): EndpointHandler {
  return async function inference(context: GatewayContext): Promise<Response> {
    const gateway = context.get("gateway");
    const paid = await paidRequestOf(context);
    const credential = paid?.credential ?? (await requireOrAskPayment(context, route));
    const proof = paid?.hasKey === false ? paymentProof(gateway) : new CredentialProof(context, credential);
    try {
      const idempotencyKey = readIdempotencyKey(context);
      // The kept answer of an agent is for its present owner only.
      if (idempotencyKey !== null && paid === null && credential.payer.kind === "session") await proof.prove();
      const at = context.get("at");
      const request = (id: string): InferenceRequest => ({
        id,
        at,
        route,
        credential,
        client: context.get("client"),
        readBody: () => readBody(context, gateway.config.request[bodyLimit], proof, bodyType),
        formType: bodyType === "json" ? undefined : formTypeOf(context),
        held: context.get("held"),
        idempotencyKey,
        paid,
        ...readTag(context, paid !== null && idempotencyKey !== null),
        clientGone: context.req.raw.signal,
        trace: context.get("trace"),
        whenSent: context.env?.whenSent,
        openOutlet: context.env?.openOutlet ?? openWebOutlet,
        renewed() {
          const renewed = makeRequestId(at, gateway.environment.random.bytes(10));
          context.set("requestId", renewed);
          return request(renewed);
        },
        get headers() {
          const paymentResponse = context.get("paymentResponse");
          if (paymentResponse === undefined) return commonHeaders(id);
          return { ...commonHeaders(id), [PAYMENT_RESPONSE]: paymentResponse };
        },
      });
      const response = await serveInference(gateway, request(context.get("requestId")));
      gateway.seen.accept(credential.payer.digest, context.get("at"));
      context.set("hasCommonHeaders", true);
      return response;
    } catch (error) {
      // The credential may not have been looked up yet, and only a valid one gets a detailed error. A late body is the
      // exception, because its connection must be closed.
      const proving = paid === null && mayBeUnproven(error) ? proof.prove() : undefined;
      await (isLate(error) ? proving?.catch(() => undefined) : proving);
      throw await withTopUp(context, error);
    }
  };
}

/** The credential. Throws 402 with how to pay where a request without one can be paid, else 401. */
async function requireOrAskPayment(context: GatewayContext, route: InferenceRoute): Promise<VerifiedCredential> {
  const error = await paymentRequired(context, route);
  if (error !== undefined) throw await withTopUp(context, error);
  return requireCredential(context);
}

/** Of a payment without a key: its signature was checked. While memory is scarce, the rest is for who has a balance. */
function paymentProof({ bodyMemory }: Gateway): SenderProof {
  return {
    prove: async () => undefined,
    async require() {
      if (!bodyMemory.isScarce()) return;
      fail("overloaded", "The gateway is overloaded. The payment was not sent. Retry in 5 s.", { retryAfterS: 5 });
    },
  };
}

function isLate(error: unknown): boolean {
  return error instanceof GatewayError && error.detail.code === "request_timeout";
}

/** Whether the credential may not have been looked up. A refused one is looked up again, to remember that. */
function mayBeUnproven(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { code } = error.detail;
  return errorTable[code].type === "invalid_request_error" || beforeAdmission.has(code) || refusesCredential(error);
}

const beforeAdmission: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "upstream_unavailable",
  "rate_limited",
  "overloaded",
]);

/** Clients that were made for OpenRouter name themselves in this header, so a title that is no tag is no error. */
function readTag(context: GatewayContext, hasTwoNames: boolean): Pick<InferenceRequest, "tag" | "ignoredHeaders"> {
  // The payment is the name of a paid request.
  const ignored = hasTwoNames ? ["Idempotency-Key"] : [];
  const title = context.req.header("x-title")?.trim() ?? "";
  // Spreadsheets take a text that begins with one of these for a formula, and receipts are read as CSV. Some split a
  // line at semicolons too.
  if (title !== OTHER_TAG && /^(?![=+@-])[\x20-\x3a\x3c-\x7e]{1,64}$/.test(title))
    return { tag: title, ignoredHeaders: ignored };
  return { tag: undefined, ignoredHeaders: title === "" ? ignored : [...ignored, "X-Title"] };
}

/** The `Idempotency-Key` of the request, null if it has none. */
function readIdempotencyKey(context: GatewayContext): string | null {
  const key = context.req.header("idempotency-key");
  if (key === undefined || /^[\x20-\x7e]{1,255}$/.test(key)) return key ?? null;
  const message = "`Idempotency-Key` must be 1 to 255 printable ASCII characters.";
  return fail("invalid_request", message, { param: "Idempotency-Key" });
}
