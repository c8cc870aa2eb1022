import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostWithStub } from "@inference/gateway/test/host-for";
import { sendHttp } from "@inference/gateway/test/http-client";
import { settledOne } from "@inference/gateway/test/settlement/audit";
import { SMALL, USD } from "@inference/gateway/test/settlement/pay";
import { eventually } from "@inference/protocol/testing/eventually";
import { fillDisk } from "./testing/full-disk.ts";
import { startStack, type TestAccount } from "./testing/stack.ts";

/** Requests that are with the provider when the disk becomes full. */
const { host: stack, provider } = hostWithStub(startStack);

const CHARGE_NANO_USD = 10 * (SMALL.promptNanoUsd + SMALL.completionNanoUsd);

function answerOf(content: string): string {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
  return JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "sim-small", choices, usage });
}

/** The provider's answer, before whose first byte, or last one, the disk becomes full until `makeRoom` is called. */
function fillDiskBefore(answer: { status?: number; text: string; isLate?: boolean }): { makeRoom(): void } {
  let disk: { makeRoom(): void } | undefined;
  const { status = 200, text, isLate = false } = answer;
  provider.say({
    status,
    async *body() {
      if (isLate) yield text.slice(0, -20);
      if (isLate) await eventually(() => checkpoints() > 0);
      disk = fillDisk(stack.database);
      yield isLate ? text.slice(-20) : text;
    },
  });
  return { makeRoom: () => disk?.makeRoom() };
}

/** The holds of streamed answers that have a first checkpoint. */
function checkpoints(): number {
  const { count } =
    stack.database.prepare("SELECT count(*) AS count FROM receipt_row WHERE upstream_id = 'c'").get() ?? {};
  return Number(count);
}

const body = JSON.stringify({ model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "hi" }] });

function ask({ key }: TestAccount, more: Record<string, string> = {}) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...more };
  return sendHttp(stack.url, { path: "/v1/chat/completions", headers, body });
}

test("a whole answer whose charge cannot be written is 503 and free, and its charge is a loss", async () => {
  const account = await stack.account(USD);
  const disk = fillDiskBefore({ text: answerOf("an answer that is not sent") });
  const answer = await ask(account);
  assertError(answer, 503, "ledger_unavailable");
  assert.ok(!answer.text.includes("not sent"));
  disk.makeRoom();
  const { receipt, detail } = await settledOne(stack, account.address);
  assert.deepEqual([receipt.state, receipt.chargeNanoUsd, receipt.lossNanoUsd], ["released", 0, CHARGE_NANO_USD]);
  assert.equal(detail.why, "the charge could not be written");
});

test("a request with an Idempotency-Key that found the disk full is served when it is repeated, and charged once", async () => {
  const account = await stack.account(USD);
  const named = { "idempotency-key": "a name" };
  const disk = fillDiskBefore({ text: answerOf("hi") });
  assertError(await ask(account, named), 503, "ledger_unavailable");
  disk.makeRoom();
  await eventually(() => stack.gateway.live.size === 0);
  provider.say({ body: answerOf("hi") });
  assert.equal((await ask(account, named)).status, 200);
  assert.equal((await stack.balance(account.address)).settledNanoUsd, CHARGE_NANO_USD);
});

test("a failed request has its error while the disk is full, and its hold ends later", async () => {
  const account = await stack.account(USD);
  const disk = fillDiskBefore({ status: 500, text: "{}" });
  assertError(await ask(account), 502, "upstream_error");
  assert.equal(stack.gateway.live.size, 1, "the sweeper leaves its hold alone");
  disk.makeRoom();
  const { receipt } = await settledOne(stack, account.address);
  assert.equal(receipt.state, "released");
  assert.equal(stack.gateway.live.size, 0);
});

test("a large answer whose charge cannot be written breaks off before its end, and is charged when there is room", async () => {
  const account = await stack.account(USD);
  const disk = fillDiskBefore({ text: answerOf("x".repeat(1_200_000)), isLate: true });
  const response = await stack.call("/v1/chat/completions", { key: account.key, body });
  await assert.rejects(response.text());
  disk.makeRoom();
  const { receipt } = await settledOne(stack, account.address);
  assert.deepEqual([receipt.state, receipt.chargeNanoUsd], ["settled", CHARGE_NANO_USD]);
});
