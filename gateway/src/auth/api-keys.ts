import type { Commands } from "@inference/ledger/commands";
import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { KeyView } from "@inference/ledger/reads";
import { send } from "@inference/ledger/saga";
import { encodeBase32 } from "@inference/protocol/base32";
import { fail } from "@inference/protocol/errors";
import type { Gateway } from "../gateway.ts";
import { parseChangedTerms, parseKeyTerms } from "./key-terms.ts";
import { keepRevocation } from "./revocations.ts";
import { type SignedMessage, verifyKeyRequest } from "./siwe.ts";

/** The changes to a key that need no signature. */
export type KeyChange = Omit<Commands["updateKey"]["command"], "type" | "keyId">;

/** Creates a key with the terms of a signed message. Its text is returned once and not stored. */
export async function createApiKey(
  gateway: Gateway,
  signed: SignedMessage,
  atMs: number,
): Promise<{ key: string; view: KeyView }> {
  const { signer, resource } = await verifyKeyRequest(gateway, signed, { type: "create" }, atMs);
  const terms = parseKeyTerms(resource, atMs);
  const { environment, credentials } = gateway;
  const partition = accountPartition(signer.address);
  const { text, digest, label } = credentials.issue("ik", signer.address);
  const keyId = `key_${encodeBase32(environment.random.bytes(10))}`;
  const { nonce, nonceExpiresAt } = signer;
  const { status } = await environment.ledger.run(() =>
    send(partition, { type: "createKey", at: atMs, keyId, digest, label, ...terms, nonce, nonceExpiresAt }),
  );
  if (status === "nonce_used") usedBefore();
  if (status === "too_many_keys") {
    const message = `This account has ${MAX_KEYS_PER_ACCOUNT} keys, which is the maximum. Revoke one first.`;
    fail("invalid_request", message, { metadata: { max_keys: MAX_KEYS_PER_ACCOUNT } });
  }
  return { key: text, view: await readApiKey(gateway, partition, keyId, atMs) };
}

/** Throws 404 for a key of another account, as for one that does not exist. */
export async function changeApiKey(
  gateway: Gateway,
  partition: Partition,
  { keyId, change, at }: { keyId: string; change: KeyChange; at: number },
): Promise<KeyView> {
  const { status } = await gateway.environment.ledger.run(() =>
    send(partition, { type: "updateKey", keyId, ...change }),
  );
  if (status === "unknown") unknownKey(keyId);
  if (status === "would_raise") {
    const message =
      "A session can only lower limits and allow fewer models. For anything else, sign a message with the key's new " +
      `terms and send it to POST /api/v1/keys/${keyId.slice(0, 64)}/limit.`;
    fail("invalid_request", message, { param: change.models === undefined ? "limit" : null });
  }
  const view = await readApiKey(gateway, partition, keyId, at);
  if (change.disabled === true) gateway.seen.refuse(view.key.digest);
  return view;
}

/**
 * Replaces a key's secret. The old one is invalid at once. The key's id, limits and history stay. Throws 404 unless the
 * key belongs to the signer's account.
 */
export async function rollApiKey(
  gateway: Gateway,
  { keyId, signed, at }: { keyId: string; signed: SignedMessage; at: number },
): Promise<{ key: string; view: KeyView }> {
  const { signer } = await verifyKeyRequest(gateway, signed, { type: "roll", keyId }, at);
  const partition = accountPartition(signer.address);
  const { text, digest, label } = gateway.credentials.issue("ik", signer.address);
  const { nonce, nonceExpiresAt } = signer;
  const old = await readApiKey(gateway, partition, keyId, at);
  const { status } = await gateway.environment.ledger.run(() =>
    send(partition, { type: "rollKey", at, keyId, digest, label, nonce, nonceExpiresAt }),
  );
  if (status === "nonce_used") usedBefore();
  if (status === "unknown") unknownKey(keyId);
  gateway.seen.refuse(old.key.digest);
  await keepRevocation(gateway.environment, { partition, keyId, digest: old.key.digest, at });
  return { key: text, view: await readApiKey(gateway, partition, keyId, at) };
}

/**
 * Sets the terms of a key that the signed message names. Limits may be higher than before. The key's charges and holds
 * count in new windows. Throws 404 unless the key belongs to the signer's account, and 401 `key_expired` if it has
 * expired.
 */
export async function setApiKeyTerms(
  gateway: Gateway,
  { keyId, signed, at }: { keyId: string; signed: SignedMessage; at: number },
): Promise<KeyView> {
  const { signer, resource } = await verifyKeyRequest(gateway, signed, { type: "terms", keyId }, at);
  const terms = parseChangedTerms(resource, at);
  const partition = accountPartition(signer.address);
  const { nonce, nonceExpiresAt } = signer;
  const id = encodeBase32(gateway.environment.random.bytes(10));
  const { status } = await gateway.environment.ledger.run(() =>
    send(partition, { type: "setKeyTerms", id, at, keyId, ...terms, nonce, nonceExpiresAt }),
  );
  if (status === "nonce_used") usedBefore();
  if (status === "unknown") unknownKey(keyId);
  if (status === "expired") fail("key_expired", "An expired API key cannot be changed. Create another one.");
  return readApiKey(gateway, partition, keyId, at);
}

/** Revokes a key: no request is admitted with it any more. Safe to repeat. */
export async function revokeApiKey(gateway: Gateway, partition: Partition, keyId: string, atMs: number): Promise<void> {
  const { key } = await readApiKey(gateway, partition, keyId, atMs);
  const { status } = await gateway.environment.ledger.run(() =>
    send(partition, { type: "revokeKey", at: atMs, keyId }),
  );
  if (status === "unknown") unknownKey(keyId);
  gateway.seen.refuse(key.digest);
  await keepRevocation(gateway.environment, { partition, keyId, digest: key.digest, at: atMs });
}

export async function readApiKey(
  gateway: Gateway,
  partition: Partition,
  keyId: string,
  atMs: number,
): Promise<KeyView> {
  const view = await gateway.environment.ledger.read(partition, { type: "key", at: atMs, keyId });
  return view ?? unknownKey(keyId);
}

function usedBefore(): never {
  return fail("siwe_nonce_used", "This message was already used. Sign one with a new nonce.");
}

function unknownKey(keyId: string): never {
  return fail("not_found", `This account has no key \`${keyId.slice(0, 64)}\`: see GET /api/v1/keys.`);
}
