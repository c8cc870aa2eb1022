/**
 * Keeps texts secret where others could read them: AES-GCM under a key that only this gateway's secret gives. A text is
 * sealed for the name it is stored under, and opens under no other.
 */
export type Sealer = {
  seal(name: string, bytes: Uint8Array): Promise<string>;
  /** Undefined for what was not sealed so: under another name, or another secret. */
  open(name: string, sealed: string): Promise<Uint8Array | undefined>;
};

const NONCE_BYTES = 12;

/** @param random A nonce is used once: `random` must not repeat itself. */
export function makeSealer(secret: Uint8Array, random: { bytes(length: number): Uint8Array }): Sealer {
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
        return undefined;
      }
    },
  };
}

const utf8 = new TextEncoder();

/** A key of its own purpose: the secret itself also makes the checksums of credentials. */
async function deriveKey(secret: Uint8Array): Promise<CryptoKey> {
  const base = await crypto.subtle.importKey("raw", Uint8Array.from(secret), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8.encode("sealed records") };
  return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}
