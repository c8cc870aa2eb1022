import type { Address } from "./credential.ts";
import { isNanoUsd, type NanoUsd } from "./money.ts";

/**
 * Signed receipts: the gateway's word for one charge, as a compact JWS (RFC 7515) with an Ed25519 signature (RFC 8037).
 * The public key is in the settlement contract, so the customer needs no word of the gateway to check one. A receipt
 * names no place in a statement: the statement is made later.
 */
export type SignedReceipt = {
  /** The gateway's base URL. */
  iss: string;
  /** The account. */
  sub: Address;
  /** The receipt's id. */
  jti: string;
  /**
   * When the request was admitted, in seconds since 1970. A receipt is signed again each time it is read, with the same
   * text.
   */
  iat: number;
  chain_id: number;
  settlement: Address;
  cost_nano_usd: NanoUsd;
  model: string;
  /** The id of the prices. */
  snapshot: string;
  /** The UTC day of the request's admission, in days since 1970. */
  day: number;
  /** `protocol`, or the agent whose allowance paid. */
  served_by: "protocol" | Address;
  /** The hash of the agent's offer. */
  offer: `0x${string}` | null;
};

const TYPES: Readonly<Record<Exclude<keyof SignedReceipt, "offer">, "string" | "number">> = {
  ...{ iss: "string", sub: "string", jti: "string", iat: "number", chain_id: "number", settlement: "string" },
  ...{ cost_nano_usd: "number", model: "string", snapshot: "string", day: "number", served_by: "string" },
};

/** The header of an answer that has its signed receipt. */
export const RECEIPT_HEADER = "x-receipt";

/** The label under which the seed of the receipt key is derived from the gateway's secret, by HKDF-SHA256. */
export const KEY_LABEL = "receipt key";

const HEADER = encodeBase64Url(utf8('{"alg":"EdDSA"}'));

/** The signed text of a receipt, as ASCII. */
export function signingInput(receipt: SignedReceipt): string {
  return `${HEADER}.${encodeBase64Url(utf8(JSON.stringify(receipt)))}`;
}

export function withSignature(input: string, signature: Uint8Array): string {
  return `${input}.${encodeBase64Url(signature)}`;
}

/** Reads a receipt, whoever signed it. Undefined if the text is none. */
export function readSignedReceipt(text: string): SignedReceipt | undefined {
  try {
    const payload: unknown = JSON.parse(new TextDecoder().decode(decodeBase64Url(text.split(".")[1] ?? "")));
    const fields = Object.entries(payload ?? {});
    const isReceipt = Object.entries(TYPES).every(([name, type]) => {
      return fields.some(([field, value]) => field === name && typeof value === type);
    });
    const receipt = payload as SignedReceipt;
    return isReceipt && isNanoUsd(receipt.cost_nano_usd) ? receipt : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the owner of a public key signed a receipt. */
export async function isSignedBy(publicKey: Uint8Array, text: string): Promise<boolean> {
  const [header, payload, signature, ...more] = text.split(".");
  if (header !== HEADER || payload === undefined || signature === undefined || more.length > 0) return false;
  const { subtle } = crypto;
  try {
    const key = await subtle.importKey("raw", Uint8Array.from(publicKey), "Ed25519", false, ["verify"]);
    return await subtle.verify("Ed25519", key, decodeBase64Url(signature), utf8(`${header}.${payload}`));
  } catch {
    return false;
  }
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(new TextEncoder().encode(text));
}

function encodeBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Throws unless it is base64url without padding. */
function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[\w-]*$/.test(text)) throw new TypeError("it is not base64url");
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}
