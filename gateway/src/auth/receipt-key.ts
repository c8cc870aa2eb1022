import { createPrivateKey, createPublicKey, hkdfSync, sign } from "node:crypto";
import { KEY_LABEL, type SignedReceipt, signingInput, withSignature } from "@inference/protocol/signed-receipt";

/** Signs receipts. Synchronous, because a stream's receipt is written into its usage event. */
export type ReceiptKey = {
  /** Ed25519, in hexadecimal, as the settlement contract has it. */
  publicKey: `0x${string}`;
  sign(receipt: SignedReceipt): string;
};

/** The gateway's key: its seed is HKDF-SHA256 of the gateway's secret. */
export function makeReceiptKey(secret: Uint8Array): ReceiptKey {
  const seed = Buffer.from(hkdfSync("sha256", secret, "", KEY_LABEL, 32));
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_OF_SEED, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: `0x${Buffer.from(x, "base64url").toString("hex")}`,
    sign(receipt) {
      const input = signingInput(receipt);
      return withSignature(input, sign(null, Buffer.from(input), key));
    },
  };
}

/** The bytes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410). */
const PKCS8_OF_SEED = Buffer.from("302e020100300506032b657004220420", "hex");
