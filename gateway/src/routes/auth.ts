import { encodeBase32 } from "@inference/protocol/base32";
import { isAddress } from "@inference/protocol/credential";
import { nonceAnswer, sessionAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { signOut as endSession, signIn as startSession } from "../auth/sign-in.ts";
import { json, ok } from "../docs/operation.ts";
import { requireSessionToken } from "../http/identify.ts";
import { readSigned, signedMessage } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { signatureErrors } from "./endpoint-errors.ts";

const signInBody = z.strictObject({
  ...signedMessage,
  agentToken: z
    .custom<`0x${string}`>((value) => typeof value === "string" && isAddress(value), "expected an address")
    .meta({ type: "string", pattern: "^0x[0-9a-fA-F]{40}$", description: "Asks for a session of this agent's owner." })
    .nullish(),
});

export const signIn = endpoint({
  method: "POST",
  path: "/auth",
  id: "signIn",
  group: "Signing in",
  title: "A session, for a signed message",
  about:
    "Sign-In With Ethereum. With `agentToken` the session speaks for that agent: any contract on the primary chain " +
    "whose `owner()` is who signed, as an identity of its own. It is 403 `not_agent_owner` where there is no " +
    "contract, where `owner()` fails or answers with no address, and where it is another. A session lasts a day.",
  body: { name: "SignIn", schema: signInBody },
  answers: [ok("The session's token.", json("SessionAnswer", sessionAnswer))],
  errors: ["unsupported_parameter", ...signatureErrors, "not_agent_owner", "ledger_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    const body = await readSigned(context, signInBody);
    return context.json(await startSession(gateway, { ...body, agentToken: body.agentToken ?? null }, at));
  },
});

export const signOut = endpoint({
  method: "DELETE",
  path: "/auth",
  id: "signOut",
  group: "Signing in",
  title: "End the session",
  credentials: ["session"],
  answers: [{ status: 204, about: "It is void everywhere.", content: {} }],
  async handle(context) {
    const { gateway, at } = context.var;
    const { token, credential } = await requireSessionToken(context);
    await endSession(gateway, { token, credential }, at);
    // This process must refuse it too.
    gateway.seen.refuse(credential.payer.digest);
    return context.body(null, 204);
  },
});

export const getNonce = endpoint({
  path: "/auth/nonce",
  id: "getNonce",
  group: "Signing in",
  title: "A nonce for a message",
  about: "One that the client made, of at least eight letters and digits, is as good.",
  answers: [ok("The nonce.", json("NonceAnswer", nonceAnswer))],
  handle(context) {
    return context.json({ nonce: encodeBase32(context.var.gateway.environment.random.bytes(15)) });
  },
});
