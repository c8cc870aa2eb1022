import { type KeyRequest, type KeyTermTexts, keyMessageText } from "@inference/protocol/key-message";
import type { LimitReset } from "@inference/protocol/window";
import type { keyAnswer, keysAnswer, newKeyAnswer } from "@inference/protocol/wire/key-answers";
import { generateSiweNonce } from "viem/siwe";
import type * as z from "zod";
import { gatewayTime } from "./clock.ts";
import type { Connection } from "./connection.ts";
import { readChain } from "./directory.ts";
import { fromWallet } from "./errors.ts";
import { request } from "./request.ts";
import { requireAccount } from "./send.ts";
import { requestAsOwner } from "./session.ts";

export type ApiKey = z.infer<typeof keyAnswer>["data"];
export type NewApiKey = z.infer<typeof newKeyAnswer>;
/** All optional. Texts, as the wallet signs them: see `KeyTermTexts`. */
export type KeyTerms = KeyTermTexts;

/** The text that the wallet signs, and a function that signs and sends it. */
export type PreparedKeyRequest<T> = { message: string; sign(): Promise<T> };

/** The text for a request about a key, to show before signing. Valid for ten minutes. */
export async function prepareKeyRequest<T = NewApiKey>(
  connection: Connection,
  asked: KeyRequest,
): Promise<PreparedKeyRequest<T>> {
  const { gateway: baseUrl } = connection;
  const account = requireAccount(connection);
  const { chain_id: chainId } = await readChain(connection);
  const signer = {
    address: account.address,
    chainId,
    nonce: generateSiweNonce(),
    issuedAt: await gatewayTime(connection),
  };
  const message = keyMessageText({ baseUrl, ...signer, request: asked });
  return {
    message,
    async sign() {
      const body = { message, signature: await fromWallet(account.signMessage({ message })) };
      return request<T>(connection, pathOf(asked), { method: "POST", body });
    },
  };
}

const ACTS = { roll: "roll", terms: "limit" } as const;

function pathOf(asked: KeyRequest): string {
  if (asked.type === "create") return "/api/v1/keys";
  return `/api/v1/keys/${encodeURIComponent(asked.keyId)}/${ACTS[asked.type]}`;
}

/**
 * Signs for a new key with these terms. The answer has the key, and no later answer. The text is made here, not by the
 * gateway.
 */
export function createKey(connection: Connection, terms: KeyTerms = {}): Promise<NewApiKey> {
  return signedRequest(connection, { type: "create", terms });
}

/** Signs for another secret of a key. The old one is void at once. */
export function rollKey(connection: Connection, keyId: string): Promise<NewApiKey> {
  return signedRequest(connection, { type: "roll", keyId });
}

/**
 * Signs for new terms of a key. Those that are not named stay, and `none` lifts one. If a limit in dollars is named,
 * the limits in dollars that are not named end: `changedTerms` (`dollar-limits.ts`) repeats them.
 */
export async function limitKey(connection: Connection, keyId: string, terms: Omit<KeyTerms, "name">): Promise<ApiKey> {
  return (await signedRequest<{ data: ApiKey }>(connection, { type: "terms", keyId, terms })).data;
}

/** The keys that are not revoked, newest first. */
export async function listKeys(connection: Connection): Promise<ApiKey[]> {
  return (await requestAsOwner<z.infer<typeof keysAnswer>>(connection, "/api/v1/keys")).data;
}

/** A change of a key that needs no signature: limits that are lowered or added, fewer models, private ones alone. */
export type KeyChange = {
  name?: string;
  disabled?: boolean;
  models?: readonly string[];
  private?: true;
} & Partial<Record<"limit" | `limit_${LimitReset | "lifetime"}`, string>> &
  Partial<Record<"requests_per_minute" | "tokens_per_minute", number>>;

/** Renames a key, disables or enables it, or tightens its terms. Needs no signature. */
export async function changeKey(connection: Connection, keyId: string, change: KeyChange): Promise<ApiKey> {
  const path = `/api/v1/keys/${encodeURIComponent(keyId)}`;
  return (await requestAsOwner<{ data: ApiKey }>(connection, path, { method: "PATCH", body: change })).data;
}

/** Revokes a key at once and for good. */
export async function revokeKey(connection: Connection, keyId: string): Promise<void> {
  await requestAsOwner(connection, `/api/v1/keys/${encodeURIComponent(keyId)}`, { method: "DELETE" });
}

async function signedRequest<T = NewApiKey>(connection: Connection, asked: KeyRequest): Promise<T> {
  return (await prepareKeyRequest<T>(connection, asked)).sign();
}
