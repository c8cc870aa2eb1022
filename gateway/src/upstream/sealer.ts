import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import type { GatewayConfig } from "../config.ts";

/** Encrypts with AES-256-GCM. A ciphertext opens only under its name. */
export type Sealer = {
  seal(name: string, bytes: Uint8Array): Buffer;
  /** Undefined if it was sealed under another name or with an unknown secret. */
  open(name: string, sealed: Uint8Array): Buffer | undefined;
};

/** The earlier secret opens what was sealed with it. */
export type Secrets = Pick<GatewayConfig, "secret" | "previousSecret">;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/**
 * @param random A nonce is used once: `random` must not repeat itself.
 * @param keyOf Derives a key for one purpose, because the secret has several.
 */
export function makeSealer(
  { secret, previousSecret }: Secrets,
  random: { bytes(length: number): Uint8Array },
  keyOf: (secret: Uint8Array) => Uint8Array = recordKeyOf,
): Sealer {
  const key = keyOf(secret);
  const earlier = previousSecret && makeSealer({ secret: previousSecret }, random, keyOf);
  return {
    seal(name, bytes) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
      return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    },
    open(name, sealed) {
      const end = sealed.length - TAG_BYTES;
      if (end < NONCE_BYTES) return undefined;
      try {
        const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(name)).setAuthTag(sealed.subarray(end));
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()]);
      } catch {
        return earlier?.open(name, sealed);
      }
    },
  };
}

function recordKeyOf(secret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", "sealed records", 32));
}
