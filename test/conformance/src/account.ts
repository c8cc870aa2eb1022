import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Address, getAddress, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import type { Target } from "./target.ts";

/** A wallet that signs for keys and sessions, over HTTP only. */
export type Account = {
  /** @param terms The query of the key endpoint, like `limit=5.00`. */
  makeKey(terms?: string): Promise<{ key: string; id: string }>;
  signIn(agentToken?: Address): Promise<string>;
};

/** The gateway's requirements for signed messages. */
export type Site = { baseUrl: string; domain: string; chainId: number };

export async function readSite({ url }: Target): Promise<Site> {
  const { data } = (await readJson(`${url}/api/v1/status`)) as { data: { base_url: string; primary_chain_id: number } };
  return { baseUrl: data.base_url, domain: new URL(data.base_url).host, chainId: data.primary_chain_id };
}

export async function openAccount(target: Target, wallet: number): Promise<Account> {
  const site = await readSite(target);
  const privateKey = target.wallets[wallet];
  assert.ok(privateKey !== undefined, `the target has only ${target.wallets.length} wallets`);
  const keyIds: string[] = [];
  async function signIn(agentToken?: Address): Promise<string> {
    const body = await signed(site, privateKey as Hex, {});
    const made = await post(`${target.url}/auth`, agentToken === undefined ? body : { ...body, agentToken });
    return (made as { token: string }).token;
  }
  // An account has room for a hundred keys.
  target.undo.push(async () => {
    const headers = { authorization: `Bearer ${await signIn()}` };
    for (const id of keyIds) await fetch(`${target.url}/api/v1/keys/${id}`, { method: "DELETE", headers });
    await fetch(`${target.url}/auth`, { method: "DELETE", headers });
  });
  return {
    signIn,
    async makeKey(terms = "name=conformance") {
      const resources = [`${site.baseUrl}/api/v1/keys?${terms}`];
      const made = await post(`${target.url}/api/v1/keys`, await signed(site, privateKey, { resources }));
      const { key, data } = made as { key: string; data: { id: string } };
      keyIds.push(data.id);
      return { key, id: data.id };
    },
  };
}

type MessageFields = Partial<Parameters<typeof createSiweMessage>[0]>;

/** A message for now, by default one that signs in, and the wallet's signature. */
export async function signed(site: Site, privateKey: Hex, fields: MessageFields) {
  const wallet = privateKeyToAccount(privateKey);
  const message = createSiweMessage({
    domain: site.domain,
    address: getAddress(wallet.address),
    uri: `${site.baseUrl}/auth`,
    version: "1",
    chainId: site.chainId,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
    ...fields,
  });
  return { message, signature: await wallet.signMessage({ message }) };
}

/** A key's spend, once none of its requests is in flight. */
export async function spentBy(target: Target, key: string): Promise<number> {
  const deadline = performance.now() + 40_000;
  for (;;) {
    const { usage_nano_usd, reserved_nano_usd } = await readKey(target, key);
    if (reserved_nano_usd === 0) return usage_nano_usd;
    assert.ok(performance.now() < deadline, `${reserved_nano_usd} nano-dollars are still held`);
    await sleep(10);
  }
}

type KeyState = { usage_nano_usd: number; reserved_nano_usd: number };

export async function readKey(target: Target, key: string): Promise<KeyState> {
  const { data } = (await readJson(`${target.url}/api/v1/key`, key)) as { data: KeyState };
  return { usage_nano_usd: data.usage_nano_usd, reserved_nano_usd: data.reserved_nano_usd };
}

type Receipt = { id: string; outcome: string; charge_nano_usd: number; held_nano_usd: number; total_cost: number };

export async function readReceipt(target: Target, key: string, id: string): Promise<Receipt> {
  return ((await readJson(`${target.url}/api/v1/generation?id=${id}`, key)) as { data: Receipt }).data;
}

/** The receipts of a key, newest first. */
export async function readReceipts(target: Target, key: string, limit = 100): Promise<Receipt[]> {
  return ((await readJson(`${target.url}/api/v1/activity?limit=${limit}`, key)) as { data: Receipt[] }).data;
}

async function readJson(url: string, key?: string): Promise<unknown> {
  const response = await fetch(url, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

async function post(url: string, body: unknown): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `POST ${url}: ${response.status} ${text}`);
  return JSON.parse(text);
}
