import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accountPartition, agentPartition } from "@inference/ledger/partition";
import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { type Offer, offerTypedData } from "@inference/protocol/offer";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Settlement } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import { generationAnswer } from "@inference/protocol/wire/answers";
import { offerAnswer } from "@inference/protocol/wire/offer";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { TestAccount } from "../fund.ts";
import type { HostUnderTest } from "../host.ts";
import { providerRecords } from "../settlement/audit.ts";
import { chatBody, makeTag, USD } from "../settlement/pay.ts";

/** A host with sub-keys at the provider, beside a chain whose every agent has this owner, computer and capacity. */
export type SellingHost = {
  host: HostUnderTest;
  settlement: Settlement;
  setSeller(seller: Seller): Promise<void>;
  stop(): Promise<void>;
};

export type Seller = { owner: Address; computer: Address };

export const CAPACITY_NANO_USD = 5 * USD;
/** The agents' tokens, one for each time that one is made. */
export const agentTokens = Array.from({ length: 12 }, (_, index): Address => `0x${String(index).padStart(40, "a")}`);

type Answer = ReturnType<typeof offerAnswer.parse>["data"];

/** Agents that sell their allowance, for every host. */
export function testOffers(start: () => Promise<SellingHost>): void {
  const computer = privateKeyToAccount(generatePrivateKey());
  const owner: Address = "0x00000000000000000000000000000000000000dd";
  let selling: SellingHost;
  let host: HostUnderTest;
  let buyer: TestAccount;
  let agents = 0;
  before(async () => {
    selling = await start();
    host = selling.host;
    await selling.setSeller({ owner, computer: computer.address });
    buyer = await host.account(USD);
  });
  after(() => selling?.stop());

  function nextAgent(): Address {
    agents += 1;
    return agentTokens[agents - 1] ?? assert.fail("there are more agents than tokens");
  }

  async function send(
    method: "PUT" | "DELETE",
    terms: Partial<Offer> & { agentToken: Address },
    { by = computer, to = selling.settlement }: { by?: PrivateKeyAccount; to?: Settlement } = {},
  ): Promise<{ status: number; code: string | undefined; data: Answer | undefined; text: string }> {
    const offer: Offer = { day: 0, shareBps: method === "PUT" ? 10_000 : 0, nonce: 1, ...terms };
    const signature = await by.signTypedData(offerTypedData(to, offer));
    const body = { day: offer.day, share_bps: offer.shareBps, nonce: offer.nonce, signature };
    const response = await host.call(`/api/v1/agents/${offer.agentToken}/offer`, { method, body });
    const text = await response.text();
    const parsed = JSON.parse(text) as { error?: { code: string } };
    const data = response.status === 200 ? offerAnswer.parse(parsed).data : undefined;
    return { status: response.status, code: parsed.error?.code, data, text };
  }

  async function offerOf(agentToken: Address): Promise<Answer> {
    const response = await host.call(`/api/v1/agents/${agentToken}/offer`);
    return offerAnswer.parse(await response.json()).data;
  }

  /** An agent that sells, and no other one. */
  async function makeSeller(terms: Partial<Offer> = {}): Promise<Address> {
    const agentToken = nextAgent();
    const { status, text } = await send("PUT", { agentToken, ...terms });
    assert.equal(status, 200, text);
    return agentToken;
  }

  async function withdraw(agentToken: Address, nonce = 1_000): Promise<void> {
    const { status, text } = await send("DELETE", { agentToken, nonce });
    assert.equal(status, 200, text);
  }

  async function ask(markers = "[[tokens=2]]", key = buyer.key) {
    const tag = makeTag();
    const body = chatBody("sim-small", markers)(tag);
    const response = await host.call("/v1/chat/completions", { key, body });
    const text = await response.text();
    return { tag, status: response.status, id: response.headers.get("x-request-id") ?? "", text };
  }

  async function receiptOf(id: string) {
    const response = await host.call(`/api/v1/generation?id=${id}`, { key: buyer.key });
    return generationAnswer.parse(await response.json()).data;
  }

  async function useOf(id: string): Promise<UseRow | undefined> {
    return (await host.rows("use", accountPartition(buyer.address))).find(({ receipt }) => receipt === id);
  }

  async function keysOf(tag: string): Promise<string[]> {
    return (await providerRecords(host, tag)).map(({ keyId }) => String(keyId));
  }

  const ownKeys = () => host.simulator.simulator.keys.list().filter(({ id }) => id !== "key-master");

  test("an agent serves through its own key: receipt, use and the agent's numbers agree to the nano-dollar", async () => {
    const agentToken = await makeSeller({ shareBps: 5_000 });
    const offered = await offerOf(agentToken);
    assert.equal(offered.today.capacity_nano_usd, CAPACITY_NANO_USD);
    assert.equal(offered.today.limit_nano_usd, CAPACITY_NANO_USD / 2);
    assert.deepEqual([offered.offer?.share_bps, offered.offer?.nonce, offered.next_nonce], [5_000, 1, 2]);
    const { status, tag, id, text } = await ask();
    assert.equal(status, 200, text);
    const receipt = await receiptOf(id);
    assert.deepEqual([receipt.served_by, receipt.offer], [agentToken, offered.offer?.hash]);
    assert.equal(receipt.rebate_nano_usd, Math.floor(receipt.charge_nano_usd / 10));
    const [key = ""] = await keysOf(tag);
    assert.ok(
      ownKeys().some((own) => own.id === key),
      `it went with ${key}`,
    );
    await eventually(async () => (await offerOf(agentToken)).today.sold_nano_usd === receipt.charge_nano_usd);
    const { today } = await offerOf(agentToken);
    assert.deepEqual([today.held, today.left_nano_usd], [0, CAPACITY_NANO_USD / 2 - receipt.charge_nano_usd]);
    const use = await useOf(id);
    assert.deepEqual([use?.server, use?.offer, use?.costNanoUsd], [agentToken, receipt.offer, receipt.charge_nano_usd]);
    await withdraw(agentToken);
    const after = await ask();
    assert.equal((await receiptOf(after.id)).served_by, "protocol");
    assert.deepEqual(await keysOf(after.tag), ["key-master"]);
    assert.equal((await offerOf(agentToken)).offer, null);
  });

  test("an offer replayed, back-dated, of another chain or contract, or by another key is refused and says why", async () => {
    const agentToken = await makeSeller({ nonce: 5 });
    assert.equal((await send("PUT", { agentToken, nonce: 5 })).status, 200, "the same again");
    const today = dayNumber(host.now());
    const { settlement } = selling;
    const stranger = privateKeyToAccount(generatePrivateKey());
    const refused = [
      ["invalid_request", await send("PUT", { agentToken, nonce: 4 })],
      ["invalid_request", await send("PUT", { agentToken, nonce: 5, shareBps: 1 })],
      ["invalid_request", await send("PUT", { agentToken, nonce: 6, day: today - 1 })],
      ["invalid_request", await send("DELETE", { agentToken, nonce: Number.MAX_SAFE_INTEGER })],
      ["invalid_request", await send("PUT", { agentToken, nonce: 6, day: today + 1 })],
      ["invalid_signature", await send("PUT", { agentToken, nonce: 6 }, { to: { ...settlement, chainId: 1 } })],
      ["invalid_signature", await send("PUT", { agentToken, nonce: 6 }, { to: { ...settlement, address: owner } })],
      ["invalid_signature", await send("PUT", { agentToken, nonce: 6 }, { by: stranger })],
      ["invalid_signature", await send("DELETE", { agentToken, nonce: 6 }, { by: stranger })],
    ] as const;
    for (const [code, answer] of refused) assert.equal(answer.code, code, answer.text);
    assert.match(refused[0][1].text, /at least 6/);
    assert.match(refused[2][1].text, new RegExp(`today is ${today}`));
    assert.match(refused[3][1].text, /too high.*at least 6 and at most 1048581/);
    const { offer } = await offerOf(agentToken);
    assert.deepEqual([offer?.nonce, offer?.share_bps], [5, 10_000]);
    await withdraw(agentToken, 6);
    assert.equal((await send("PUT", { agentToken, nonce: 5 })).code, "invalid_request", "a withdrawn offer stays so");
  });

  test("an agent whose key fails is replaced by the protocol, once, and is not asked for a minute", async () => {
    const agentToken = await makeSeller();
    const before = await host.balance(buyer.address);
    host.simulator.simulator.keys.remove(ownKeys().at(-1)?.id ?? "");
    const { status, id, tag, text } = await ask();
    assert.equal(status, 200, text);
    const receipt = await receiptOf(id);
    assert.deepEqual([receipt.served_by, receipt.offer, receipt.rebate_nano_usd], ["protocol", null, 0]);
    assert.deepEqual(await keysOf(tag), ["null", "key-master"], "a key that is gone, then the protocol's");
    await eventually(async () => {
      const { settledNanoUsd, heldNanoUsd } = await host.balance(buyer.address);
      return settledNanoUsd - before.settledNanoUsd === receipt.charge_nano_usd && heldNanoUsd === 0;
    });
    const { today } = await offerOf(agentToken);
    assert.deepEqual([today.sold, today.held], [0, 0]);
    const use = await useOf(id);
    assert.deepEqual([use?.server, use?.offer], [null, null]);
    assert.equal((await host.said("agent_failed")).filter((line) => line.request === id).length, 1);
    const next = await ask();
    assert.equal((await host.said("agent_failed")).filter((line) => line.request === next.id).length, 0);
    await withdraw(agentToken);
  });

  test("what the provider refuses of every key is asked of two and charged to nobody; a bad body is asked once", async () => {
    const agentToken = await makeSeller();
    const failed = await ask("[[fault=500]]");
    assert.equal(failed.status, 502, failed.text);
    assert.equal((await keysOf(failed.tag)).length, 2);
    assert.equal((await receiptOf(failed.id)).charge_nano_usd, 0);
    assert.equal((await host.said("agent_failed")).filter((line) => line.request === failed.id).length, 1);
    const refused = await ask("[[fault=400-provider]]");
    assert.equal(refused.status, 400, refused.text);
    assert.equal((await host.said("agent_failed")).filter((line) => line.request === refused.id).length, 0);
    await eventually(async () => (await offerOf(agentToken)).today.held === 0);
    assert.equal((await offerOf(agentToken)).today.sold, 0);
    await withdraw(agentToken);
  });

  test("a customer whose requests fail with every key takes no agent from the others", async () => {
    const agentToken = await makeSeller();
    for (const fault of ["500", "403", "429"]) await ask(`[[fault=${fault}]]`);
    const { id, status } = await ask();
    assert.equal(status, 200);
    assert.equal((await receiptOf(id)).served_by, agentToken);
    await withdraw(agentToken);
  });

  test("a stale entry costs the next try: what was withdrawn or sold elsewhere is served by the next", async () => {
    const [stale, next] = [await makeSeller(), await makeSeller()];
    for (const agent of [stale, next]) {
      const partition = agentPartition(agent);
      const { last } = await host.read(partition, { type: "offer", at: host.now() });
      // As another process would, without a word to this one.
      if (agent === stale) await host.put(partition, { type: "endOffer", at: host.now(), hash: last?.hash ?? "" });
    }
    const { id, status } = await ask();
    assert.equal(status, 200);
    assert.equal((await receiptOf(id)).served_by, next);
    await withdraw(next);
  });

  test("own use and sales at once never exceed the capacity, and neither waits for the other", async () => {
    const agentToken = await makeSeller();
    const session = await host.openSession(agentToken, { owner });
    // Room for five requests at a time, of both kinds.
    const most = (await receiptOf((await ask()).id)).held_nano_usd;
    const partition = agentPartition(agentToken);
    const { soldNanoUsd } = await host.read(partition, { type: "offer", at: host.now() });
    const limitNanoUsd = soldNanoUsd + 5 * most;
    await host.put(partition, { type: "setCapacity", at: host.now(), limitNanoUsd });
    const all = await Promise.all(
      Array.from({ length: 24 }, (_, index) => ask("[[tokens=2]]", index % 2 === 0 ? session : buyer.key)),
    );
    for (const { status, text } of all) assert.ok(status === 200 || status === 429, text);
    const view = await eventually(async () => {
      const now = await host.read(partition, { type: "offer", at: host.now() });
      return now.heldNanoUsd === 0 ? now : false;
    });
    assert.ok(view.soldNanoUsd + view.heldNanoUsd + view.ownNanoUsd <= limitNanoUsd);
    assert.ok(view.soldNanoUsd > soldNanoUsd || view.ownNanoUsd > 0);
    // Every buyer is served. The agent's own request is refused only while sales or other requests hold the rest.
    const bought = all.filter((_, index) => index % 2 === 1);
    assert.ok(bought.every(({ status }) => status === 200));
    await withdraw(agentToken);
  });

  test("an agent whose computer was replaced, or that was sold, sells nothing once that is seen", async () => {
    const stranger = privateKeyToAccount(generatePrivateKey()).address;
    for (const change of [
      { owner, computer: stranger },
      { owner: stranger, computer: computer.address },
    ]) {
      const agentToken = await makeSeller();
      await selling.setSeller(change);
      await host.goTo(host.now() + 61_000);
      // The first request after a minute has the list read again, and does not wait for it.
      await ask();
      await eventually(async () => (await offerOf(agentToken)).offer === null);
      assert.equal((await receiptOf((await ask()).id)).served_by, "protocol");
      await selling.setSeller({ owner, computer: computer.address });
      assert.equal((await send("PUT", { agentToken, nonce: 1 })).code, "invalid_request", "it has ended");
      assert.equal((await host.said("offer_ended")).filter((line) => line.agent === agentToken).length, 1);
    }
  });
}
