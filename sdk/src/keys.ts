import { type KeyRequest, type KeyTermTexts, keyMessageText } from "@inference/protocol/key-message";
import type { keyAnswer, keysAnswer, newKeyAnswer } from "@inference/protocol/wire/answers";
import { generateSiweNonce } from "viem/siwe";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { readChain } from "./directory.ts";
import { request } from "./request.ts";
import { requireAccount } from "./send.ts";
import { requestAsOwner } from "./session.ts";

export type ApiKey = z.infer<typeof keyAnswer>["data"];
export type NewApiKey = z.infer<typeof newKeyAnswer>;
/** All optional. `limit` in dollars, like 5.00; `limit_reset` `daily` or `monthly`; `expires_at` an RFC 3339 time. */
export type KeyTerms = KeyTermTexts;

/** Signs for a new key with these terms. It is in the answer this once. The text is made here, not by the gateway. */
export function createKey(connection: Connection, terms: KeyTerms = {}): Promise<NewApiKey> {
  return sendRequest(connection, { type: "create", terms }, "");
}

/** Signs for another secret of a key. The old one is void at once. */
export function rollKey(connection: Connection, keyId: string): Promise<NewApiKey> {
  return sendRequest(connection, { type: "roll", keyId }, `/${encodeURIComponent(keyId)}/roll`);
}

/** Signs for new terms of a key: `limit` in dollars, or `none`. It can be raised and lowered. */
export async function limitKey(
  connection: Connection,
  keyId: string,
  terms: Omit<KeyTerms, "name"> & { limit: string },
): Promise<ApiKey> {
  const path = `/${encodeURIComponent(keyId)}/limit`;
  return (await sendRequest<{ data: ApiKey }>(connection, { type: "terms", keyId, terms }, path)).data;
}

/** Those not revoked, the newest first. */
export async function listKeys(connection: Connection): Promise<ApiKey[]> {
  return (await requestAsOwner<z.infer<typeof keysAnswer>>(connection, "/api/v1/keys")).data;
}

/** At once and for good. */
export async function revokeKey(connection: Connection, keyId: string): Promise<void> {
  await requestAsOwner(connection, `/api/v1/keys/${encodeURIComponent(keyId)}`, { method: "DELETE" });
}

async function sendRequest<T>(connection: Connection, asked: KeyRequest, path: string): Promise<T> {
  const { gateway: baseUrl } = connection;
  const account = requireAccount(connection);
  const { chain_id: chainId } = await readChain(connection);
  const signer = { address: account.address, chainId, nonce: generateSiweNonce(), issuedAt: Date.now() };
  const message = keyMessageText({ baseUrl, ...signer, request: asked });
  const body = { message, signature: await account.signMessage({ message }) };
  return request(connection, `/api/v1/keys${path}`, { method: "POST", body });
}
