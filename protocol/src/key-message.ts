import type { Address } from "./credential.ts";
import { formatSiweMessage } from "./siwe.ts";
import type { LimitReset } from "./window.ts";

/** The terms of a new key, as the query of the signed resource has them. All are optional. */
export type KeyTermTexts = {
  /** 1 to 64 printable characters. */
  name?: string | undefined;
  /** In US dollars, like 5.00. */
  limit?: string | undefined;
  /** Other limits in US dollars. */
  limit_daily?: string | undefined;
  limit_monthly?: string | undefined;
  limit_lifetime?: string | undefined;
  requests_per_minute?: string | undefined;
  tokens_per_minute?: string | undefined;
  /** Ids of models, or beginnings with `*` at the end, with commas between them. */
  models?: string | undefined;
  /** `true`: models alone that the provider calls private. */
  private?: string | undefined;
  /** Absent: the limit is for the key's lifetime. */
  limit_reset?: LimitReset | undefined;
  /** An RFC 3339 time. */
  expires_at?: string | undefined;
};

/** The request of a signed message about an API key: a new key, a new secret, or new terms. */
export type KeyRequest =
  | { type: "create"; terms: KeyTermTexts }
  | { type: "roll"; keyId: string }
  /**
   * Terms that it does not name stay. Limits in dollars are the exception: to name one ends the others. `none` lifts `limit`,
   * the limits for a minute, `models` and `expires_at`.
   */
  | { type: "terms"; keyId: string; terms: Omit<KeyTermTexts, "name"> };

export type KeyMessage = {
  /** The gateway's URL, as signed messages name it: without a slash at its end. */
  baseUrl: string;
  address: Address;
  chainId: number;
  /** At least eight letters and digits. */
  nonce: string;
  /** In ms since the epoch. */
  issuedAt: number;
  request: KeyRequest;
};

/** The EIP-4361 message that a wallet signs for an API key. Throws for fields that make no message. */
export function keyMessageText({ baseUrl, address, chainId, nonce, issuedAt, request }: KeyMessage): string {
  return formatSiweMessage({
    domain: new URL(baseUrl).host,
    address,
    statement: STATEMENTS[request.type],
    uri: baseUrl,
    version: "1",
    chainId,
    nonce,
    issuedAt,
    resources: [keyResource(baseUrl, request)],
  });
}

const STATEMENTS = {
  create: "Make an API key with the terms below. It spends the balance of this account. Signing costs no gas.",
  roll: "Replace the secret of an API key. The old secret stops working. Signing costs no gas.",
  terms: "Change the terms of an API key to those below. Signing costs no gas.",
} as const;

/** The message's one resource. */
export function keyResource(baseUrl: string, request: KeyRequest): string {
  const endpoint = `${baseUrl}/api/v1/keys`;
  if (request.type === "create") return endpoint + queryOf(request.terms);
  const key = `${endpoint}/${encodeURIComponent(request.keyId)}`;
  return request.type === "roll" ? `${key}/roll` : key + queryOf(request.terms);
}

/** Escapes what a query needs, and no colon, comma or slash: a wallet shows the text to a person. */
function queryOf(terms: KeyTermTexts): string {
  const named = Object.entries(terms).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = named
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll(/%3A|%2C|%2F/g, decodeURIComponent)}`)
    .join("&");
  return query === "" ? "" : `?${query}`;
}
