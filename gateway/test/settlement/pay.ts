import assert from "node:assert/strict";
import { eventually } from "@inference/protocol/testing/eventually";
import type { TestAccount } from "../fund.ts";
import type { HostUnderTest } from "../host.ts";
import { alertsOf, billed, providerRecord, providerRecords, type Settled, settledOne } from "./audit.ts";
import { openChatStream } from "./chat-stream.ts";

/** One request on an account of its own, with its outcome in our ledger and in the provider's record. */
export const USD = 1_000_000_000;

let lastTag = 0;
export function makeTag(): string {
  lastTag += 1;
  return `tag-${lastTag}-`;
}

export type Paid = Settled & { account: TestAccount; bill: number; alerts: string[] };

export async function paidFor(host: HostUnderTest, account: TestAccount, tag: string): Promise<Paid> {
  const settled = await settledOne(host, account.address);
  const bill = billed(await providerRecord(host, tag));
  const { id, lossNanoUsd } = settled.receipt;
  const { losses, usage } = await alertsOf(host, id);
  assert.deepEqual(losses, lossNanoUsd > 0 ? [lossNanoUsd] : [], "a loss the operator was not told");
  return { ...settled, account, bill, alerts: usage };
}

/** `broken`: the connection ended before the answer did. */
export type Answer = { status: number; headers: Headers; text: string; broken: boolean };

/** Sends one request on an account of its own, reads its answer to the end, and returns the outcome. */
export async function pay(
  host: HostUnderTest,
  path: string,
  makeBody: (tag: string) => object,
): Promise<Paid & Answer> {
  const account = await host.account(1_000 * USD);
  const tag = makeTag();
  const answer = await host.call(path, { key: account.key, body: makeBody(tag) });
  const { status, headers } = answer;
  const read = await answer.text().then(
    (text) => ({ text, broken: false }),
    () => ({ text: "", broken: true }),
  );
  return { ...(await paidFor(host, account, tag)), status, headers, ...read };
}

const MAX_TOKENS = 100;

export function chatBody(model: string, markers: string, more: object = {}): (tag: string) => object {
  return (tag) => ({
    model,
    messages: [{ role: "user", content: `${tag} ${markers}` }],
    max_tokens: MAX_TOKENS,
    ...more,
  });
}

/** A fault met through a marker, so that the model is an ordinary one. */
export function withFault(name: string, markers = ""): string {
  return `[[fault=${name}]]${markers}`;
}

/** A client that leaves: as soon as the provider has its request, or after so much of the stream. */
export type Moment = (host: HostUnderTest, account: TestAccount, body: object, tag: string) => Promise<void>;

export function leaveAtOnce(path = "/v1/chat/completions"): Moment {
  return async (host, { key }, body, tag) => {
    const abort = new AbortController();
    const answer = host.call(path, { key, body, signal: abort.signal });
    const left = assert.rejects(answer, { name: "AbortError" });
    await eventually(() => providerRecords(host, tag).length > 0);
    abort.abort();
    await left;
  };
}

export function leaveWhen(isTime: (text: string, tokens: number) => boolean): Moment {
  return async (host, account, body) => {
    const stream = await openChatStream(host, account, body);
    assert.ok(await stream.readUntil(() => isTime(stream.text(), stream.tokens())), "the stream ended before");
    stream.leave();
  };
}

export async function payAndLeave(
  host: HostUnderTest,
  moment: Moment,
  makeBody: (tag: string) => object,
): Promise<Paid> {
  const account = await host.account(1_000 * USD);
  const tag = makeTag();
  await moment(host, account, makeBody(tag), tag);
  return paidFor(host, account, tag);
}

/** Prices of `sim-small`, which most of these requests use, for a token. */
export const SMALL = { promptNanoUsd: 150, completionNanoUsd: 600 };

export function assertBilledExactly({ receipt, bill, alerts }: Paid): void {
  assert.deepEqual(
    { state: receipt.state, charge: receipt.chargeNanoUsd, loss: receipt.lossNanoUsd, alerts },
    { state: "settled", charge: bill, loss: 0, alerts: [] },
  );
}

export function assertFree({ receipt, alerts }: Paid): void {
  const { state, chargeNanoUsd, lossNanoUsd } = receipt;
  assert.deepEqual([state, chargeNanoUsd, lossNanoUsd, alerts], ["released", 0, 0, []]);
}

/** Nothing is charged, and the possible bill, up to the hold, is a loss. */
export function assertLost({ receipt, bill, alerts }: Paid): void {
  const { state, chargeNanoUsd, lossNanoUsd } = receipt;
  assert.deepEqual([state, chargeNanoUsd, alerts], ["released", 0, []]);
  assert.equal(lossNanoUsd, receipt.heldNanoUsd);
  assert.ok(lossNanoUsd >= bill);
}

/** As `assertLost`, for a stream: the provider has read the prompt. */
export function assertPromptLost({ receipt, bill, alerts }: Paid): void {
  const { state, chargeNanoUsd, lossNanoUsd } = receipt;
  assert.deepEqual([state, chargeNanoUsd, alerts], ["released", 0, []]);
  const prompt = receipt.heldNanoUsd - MAX_TOKENS * SMALL.completionNanoUsd;
  assert.ok(Math.abs(lossNanoUsd - prompt) <= 1, `${lossNanoUsd} of ${prompt}`);
  assert.ok(lossNanoUsd >= bill);
}

/** The loss of a stream: what came after its client had left; of one that the gateway gave up the rest of the hold. */
type Unread = "some" | "hold";

function assertUnread({ receipt }: Pick<Paid, "receipt">, unread: Unread): void {
  const { chargeNanoUsd, lossNanoUsd } = receipt;
  if (unread === "hold") assert.equal(chargeNanoUsd + lossNanoUsd, receipt.heldNanoUsd, `a loss of ${lossNanoUsd}`);
  else assert.ok(lossNanoUsd > 0 && chargeNanoUsd + lossNanoUsd < receipt.heldNanoUsd, `a loss of ${lossNanoUsd}`);
}

/** The charge is at least the delivered content and at most the hold. */
export function assertDelivered({ receipt, detail, alerts }: Paid, tokens: number, unread: Unread): void {
  const { state, chargeNanoUsd } = receipt;
  assert.deepEqual([state, detail.basis, alerts], ["settled", "delivered", []]);
  assertUnread({ receipt }, unread);
  assert.ok(chargeNanoUsd >= tokens * SMALL.completionNanoUsd, `${chargeNanoUsd} for ${tokens} tokens`);
  assert.ok(chargeNanoUsd <= receipt.heldNanoUsd);
}

/** The hold without the answer that was bounded by it. */
export function promptBound({ receipt }: Pick<Paid, "receipt">): number {
  return receipt.heldNanoUsd - MAX_TOKENS * SMALL.completionNanoUsd;
}

/** The prompt's bound, of a stream that the gateway gave up. */
export function assertPrompt({ receipt, detail }: Paid): void {
  assert.deepEqual([receipt.state, detail.basis], ["settled", "delivered"], JSON.stringify(detail));
  assert.ok(receipt.chargeNanoUsd > 0, "the prompt costs something");
  const prompt = promptBound({ receipt });
  assert.ok(Math.abs(receipt.chargeNanoUsd - prompt) <= 1, `${receipt.chargeNanoUsd} of ${prompt}`);
  assertUnread({ receipt }, "hold");
}

export function assertHold({ receipt, detail }: Paid): void {
  const { state, chargeNanoUsd, lossNanoUsd } = receipt;
  assert.deepEqual([state, chargeNanoUsd, lossNanoUsd], ["settled", receipt.heldNanoUsd, 0], JSON.stringify(detail));
}
