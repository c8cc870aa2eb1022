import * as z from "zod";

/** The two fields of a body that carries a signed message. */
export const signedMessage = {
  message: z.string().describe("An EIP-4361 message, as it was signed."),
  signature: z
    .custom<`0x${string}`>(
      (value) => typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value),
      "expected the signature's bytes in hex, beginning with 0x",
    )
    .meta({ type: "string", pattern: "^0x([0-9a-fA-F]{2})*$", description: "The wallet's signature over it." }),
};
