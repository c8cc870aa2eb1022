import { createHmac } from "node:crypto";
import { makeSealer, type Secrets } from "../../upstream/sealer.ts";

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
const MAX_TEXT_BYTES = 256 * 1024;
/** Longer than any text that was sealed here. */
const MAX_SEALED_CHARACTERS = 2 * MAX_TEXT_BYTES;

/** @param random A nonce is used once: `random` must not repeat itself. */
export function makeReasoningSeal(secrets: Secrets, random: { bytes(length: number): Uint8Array }): ReasoningSeal {
  const keyOf = (secret: Uint8Array): Uint8Array => createHmac("sha256", secret).update("sealed reasoning").digest();
  const sealer = makeSealer(secrets, random, keyOf);
  const nameOf = ({ account, model }: SealOwner): string => JSON.stringify([account, model]);
  return {
    seal(owner, text) {
      const bytes = Buffer.from(text);
      if (bytes.length > MAX_TEXT_BYTES) return null;
      return PREFIX + sealer.seal(nameOf(owner), bytes).toString("base64url");
    },
    open(owner, sealed) {
      if (!sealed.startsWith(PREFIX) || sealed.length > MAX_SEALED_CHARACTERS) return null;
      return sealer.open(nameOf(owner), Buffer.from(sealed.slice(PREFIX.length), "base64url"))?.toString() ?? null;
    },
  };
}
