import { fail } from "@inference/protocol/errors";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { GatewayContext } from "./context.ts";

/** The credential that an error asks for: an API key, or a session if the endpoint takes no key. */
export type Wanted = "key" | "session";

/**
 * The request's credential, with its checksum verified and nothing looked up. Throws 401, and 429 if its account or
 * identity sends too many requests.
 */
export function requireCredential(context: GatewayContext, wanted: Wanted = "key"): VerifiedCredential {
  const credential = presentedCredential(context, wanted) ?? missing(wanted);
  const { rates, seen } = context.get("gateway");
  const { partition, payer } = credential;
  context.set("credential", credential);
  // A refused credential counts by itself.
  rates.account.admit(seen.isRefused(payer.digest) ? payer.digest : partition, context.get("at"));
  return credential;
}

/** The same for public endpoints: undefined without a credential. An invalid one is still 401. */
export function presentedCredential(context: GatewayContext, wanted: Wanted = "key"): VerifiedCredential | undefined {
  const text = presentedToken(context, wanted);
  if (text === undefined) return undefined;
  const credential = context.get("gateway").credentials.verify(text);
  if (credential !== undefined) return credential;
  if (/^i[sa]_/.test(text))
    fail("invalid_session", "This session token is malformed, or from another gateway. Sign in again.");
  return fail(
    "invalid_api_key",
    "This API key is malformed, or from another gateway. Check that it was copied completely.",
  );
}

/**
 * The credential's text: the bearer token, else the `x-api-key` that clients of other APIs send; undefined without
 * either. Throws 401 if it is malformed.
 */
export function presentedToken(context: GatewayContext, wanted: Wanted = "key"): string | undefined {
  const bearer = context.req.header("authorization");
  const header = bearer ?? context.req.header("x-api-key");
  if (header === undefined) return undefined;
  return (bearer === undefined ? TOKEN : BEARER).exec(header)?.[1] ?? missing(wanted);
}

const BEARER = /^bearer[ \t]+(\S{1,512})[ \t]*$/i;
const TOKEN = /^[ \t]*(\S{1,512})[ \t]*$/;

function missing(wanted: Wanted): never {
  return fail("missing_credentials", howToSend[wanted]);
}

const howToSend: Record<Wanted, string> = {
  key: "Send your API key as `Authorization: Bearer <key>` or as `x-api-key: <key>`.",
  session: "Sign in with POST /auth and send its token as `Authorization: Bearer <token>`.",
};
