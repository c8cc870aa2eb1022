import { signature } from "@inference/protocol/wire/fields";
import * as z from "zod";
import type { SignedMessage } from "../auth/siwe.ts";
import { readSmall } from "./body.ts";
import type { GatewayContext } from "./context.ts";

/** The two fields of a body that carries a signed message. */
export const signedMessage = {
  message: z.string().describe("The EIP-4361 message that was signed."),
  signature: signature.describe("The wallet's signature over it."),
};

/** Reads a body with a signed message, and adds the client's address. */
export async function readSigned<T extends Omit<SignedMessage, "client">>(
  context: GatewayContext,
  schema: z.ZodType<T>,
): Promise<T & Pick<SignedMessage, "client">> {
  return { ...(await readSmall(context, schema)), client: context.get("client") };
}
