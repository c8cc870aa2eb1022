/**
 * Encrypts what is stored where others could read it: AES-GCM with a key that is derived from the gateway's secret. The
 * ciphertext is bound to the name that it is stored under.
 */
export type Sealer = {
  seal(name: string, bytes: Uint8Array): Promise<string>;
  /** Undefined if it was sealed under another name or with an unknown secret. */
  open(name: string, sealed: string): Promise<Uint8Array | undefined>;
};

const NONCE_BYTES = 12;

/**
 * @param random A nonce is used once: `random` must not repeat itself.
 * @param previous An earlier secret, which opens what was sealed with it.
 */
export function makeSealer(
  secret: Uint8Array,
  random: { bytes(length: number): Uint8Array },
  previous?: Uint8Array,
): Sealer {
  const earlier = previous === undefined ? undefined : makeSealer(previous, random);
  let key: Promise<CryptoKey> | undefined;
  const parameters = (name: string, nonce: Uint8Array<ArrayBuffer>): AesGcmParams => ({
    name: "AES-GCM",
    iv: nonce,
    additionalData: utf8.encode(name),
  });
  return {
    async seal(name, bytes) {
      key ??= deriveKey(secret);
      const nonce = Uint8Array.from(random.bytes(NONCE_BYTES));
      const sealed = await crypto.subtle.encrypt(parameters(name, nonce), await key, Uint8Array.from(bytes));
      return Buffer.concat([nonce, new Uint8Array(sealed)]).toString("base64");
    },
    async open(name, sealed) {
      key ??= deriveKey(secret);
      const bytes = Uint8Array.from(Buffer.from(sealed, "base64"));
      const [nonce, rest] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
      try {
        return new Uint8Array(await crypto.subtle.decrypt(parameters(name, nonce), await key, rest));
      } catch {
        return earlier?.open(name, sealed);
      }
    },
  };
}

const utf8 = new TextEncoder();

/** Derives a separate key, because the secret is also used for the checksums of credentials. */
async function deriveKey(secret: Uint8Array): Promise<CryptoKey> {
  const base = await crypto.subtle.importKey("raw", Uint8Array.from(secret), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8.encode("sealed records") };
  return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}
