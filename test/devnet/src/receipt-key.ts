import { createPrivateKey, createPublicKey, hkdfSync } from "node:crypto";
import { KEY_LABEL } from "@inference/protocol/signed-receipt";

/**
 * The public key (Ed25519) with which a gateway of this secret signs receipts. The settlement is deployed with it, before
 * the gateway runs. Its seed is HKDF-SHA256 of the secret.
 */
export function receiptKeyOf(gatewaySecret: string): `0x${string}` {
  const seed = Buffer.from(hkdfSync("sha256", Buffer.from(gatewaySecret, "hex"), "", KEY_LABEL, 32));
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_OF_SEED, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return `0x${Buffer.from(x, "base64url").toString("hex")}`;
}

/** The bytes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410). */
const PKCS8_OF_SEED = Buffer.from("302e020100300506032b657004220420", "hex");
