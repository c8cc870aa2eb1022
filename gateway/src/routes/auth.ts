import { encodeBase32 } from "@inference/protocol/base32";
import { isAddress } from "@inference/protocol/credential";
import * as z from "zod";
import { signIn, signOut } from "../auth/sign-in.ts";
import type { GatewayContext } from "../http/context.ts";
import { requireSessionToken } from "../http/identify.ts";
import { readSigned, signedMessage } from "../http/signed-message.ts";

export const signInBody = z.strictObject({
  ...signedMessage,
  agentToken: z
    .custom<`0x${string}`>((value) => typeof value === "string" && isAddress(value), "expected an address")
    .meta({ type: "string", pattern: "^0x[0-9a-fA-F]{40}$", description: "Asks for a session of this agent's owner." })
    .nullish(),
});

/** POST /auth: a session for whoever signed the message, or for the agent they own. */
export async function postAuth(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const body = await readSigned(context, signInBody);
  return context.json(await signIn(gateway, { ...body, agentToken: body.agentToken ?? null }, at));
}

/** DELETE /auth: ends the session that is sent. */
export async function deleteAuth(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { token, credential } = await requireSessionToken(context);
  await signOut(gateway, { token, credential }, at);
  // From here on it is refused everywhere but here.
  gateway.seen.refuse(credential.payer.digest);
  return context.body(null, 204);
}

/** GET /auth/nonce: for clients that want a server's nonce. One that the client made is as good. */
export function getNonce(context: GatewayContext): Response {
  return context.json({ nonce: encodeBase32(context.var.gateway.environment.random.bytes(15)) });
}
