import { readBody } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import { requireCredential } from "../http/credential.ts";
import { CredentialProof } from "../inference/admission/sender-proof.ts";
import type { BodyParser } from "../inference/requests/body-job.ts";
import { readBodyOf, requireParsed } from "../inference/requests/read-body.ts";

/**
 * Reads the chat of a request that costs nothing. Only a valid credential's body is read: no hold limits the work.
 * Throws the parser's refusal.
 */
export async function readFreeBody<Parsed>(context: GatewayContext, parser: BodyParser<Parsed>): Promise<Parsed> {
  const gateway = context.get("gateway");
  const credential = requireCredential(context);
  const proof = new CredentialProof(context, credential);
  await proof.prove();
  const blocks = await readBody(context, gateway.config.request.chatBodyBytes, proof);
  return requireParsed(await readBodyOf(gateway, credential.partition, parser, { blocks, wantsFingerprint: false }));
}
