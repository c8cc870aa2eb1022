import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

/**
 * Seals a model's reasoning, so that a client can keep it and send it back: some providers refuse a conversation
 * without it. Nothing is stored here. A sealed text opens for the same account and the same model only.
 */
export type ReasoningSeal = {
  /** Null if the text is too long to be sealed. */
  seal(owner: SealOwner, text: string): string | null;
  /** Null for anything that was not sealed here for this owner. */
  open(owner: SealOwner, sealed: string): string | null;
};

/** @param account The partition of the account or identity. */
export type SealOwner = { account: string; model: string };

/** The version of the format. */
const PREFIX = "igr1.";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_TEXT_BYTES = 256 * 1024;
/** Nothing longer was sealed here. */
const MAX_SEALED_CHARACTERS = PREFIX.length + Math.ceil((MAX_TEXT_BYTES + NONCE_BYTES + TAG_BYTES) / 3) * 4;
const CIPHER = "aes-256-gcm";

/**
 * @param random A nonce is used once: `random` must not repeat itself.
 * @param previous An earlier secret, which opens what was sealed with it.
 */
export function makeReasoningSeal(
  secret: Uint8Array,
  random: { bytes(length: number): Uint8Array },
  previous?: Uint8Array,
): ReasoningSeal {
  const earlier = previous === undefined ? undefined : makeReasoningSeal(previous, random);
  // A key of its own, because the secret is also used for credentials.
  const key = createHmac("sha256", secret).update("sealed reasoning").digest();
  const boundTo = ({ account, model }: SealOwner): Uint8Array => Buffer.from(JSON.stringify([account, model]));
  return {
    seal(owner, text) {
      const bytes = Buffer.from(text);
      if (bytes.length > MAX_TEXT_BYTES) return null;
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(boundTo(owner));
      const sealed = Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      return PREFIX + sealed.toString("base64url");
    },
    open(owner, sealed) {
      if (!sealed.startsWith(PREFIX) || sealed.length > MAX_SEALED_CHARACTERS) return null;
      const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url");
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
      const end = bytes.length - TAG_BYTES;
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(owner)).setAuthTag(bytes.subarray(end));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, end)), decipher.final()]).toString();
      } catch {
        return earlier?.open(owner, sealed) ?? null;
      }
    },
  };
}
