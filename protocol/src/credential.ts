import { decodeBase32, encodeBase32 } from "./base32.ts";

/**
 * API keys and session tokens, one format: `<kind>_<subject>_<secret><checksum>`.
 *
 * - kind: `ik` for an API key, `is` for a wallet's session token, `ia` for an agent's.
 * - subject: the 20-byte address of the account or identity, which names its partition.
 * - secret: 20 random bytes.
 * - checksum: 10 bytes of an HMAC over everything before it, with a server secret. Typing errors and forgeries are
 *   rejected without a lookup.
 *
 * Each part is base 32. The stored form of a credential is a digest of its whole text; the text itself is shown once.
 */
export type CredentialKind = "ik" | "is" | "ia";
export type Address = `0x${string}`;

export type Credential = {
  kind: CredentialKind;
  /** Lower case. */
  subject: Address;
  /** Everything before the checksum. */
  body: string;
  checksum: string;
};

export const SECRET_BYTES = 20;
export const CHECKSUM_BYTES = 10;
const PATTERN = /^(ik|is|ia)_([0-9a-hjkmnp-tv-z]{32})_([0-9a-hjkmnp-tv-z]{32})([0-9a-hjkmnp-tv-z]{16})$/;

/** @param secret 20 random bytes. The caller appends the checksum. */
export function credentialBody(kind: CredentialKind, subject: Address, secret: Uint8Array): string {
  return `${kind}_${encodeBase32(addressToBytes(subject))}_${encodeBase32(secret.subarray(0, SECRET_BYTES))}`;
}

/** Undefined unless the text has the format. It may still be a forgery. */
export function parseCredential(text: string): Credential | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, kind, subject = "", secret = "", checksum = ""] = match;
  const bytes = decodeBase32(subject);
  if (bytes === undefined || bytes.length !== 20) return undefined;
  return {
    kind: kind as CredentialKind,
    subject: bytesToAddress(bytes),
    body: `${kind}_${subject}_${secret}`,
    checksum,
  };
}

/** How a key is shown after its creation: enough to recognise it, too little to use it. */
export function credentialLabel(text: string): string {
  return `${text.slice(0, 7)}...${text.slice(-4)}`;
}

export function isAddress(text: string): text is Address {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

export function lowerAddress(address: string): Address {
  return address.toLowerCase() as Address;
}

function addressToBytes(address: Address): Uint8Array {
  return Uint8Array.from({ length: 20 }, (_, index) =>
    Number.parseInt(address.slice(2 + index * 2, 4 + index * 2), 16),
  );
}

function bytesToAddress(bytes: Uint8Array): Address {
  let text = "0x";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text as Address;
}
