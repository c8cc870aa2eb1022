import assert from "node:assert/strict";
import { test } from "node:test";
import { LedgerUnavailable } from "@inference/ledger/client";
import { NOTICE_WAITS_MS } from "@inference/ledger/limits";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import { createKey, hear } from "@inference/ledger/testing/example";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import { type Environment, WebhookFailure } from "../environment.ts";
import { makeNotifier } from "./notify.ts";

type Post = Environment["webhooks"]["post"];
type Message = Parameters<Post>[0];

const [A, B] = ["a", "b"].map((letter) => accountPartition(`0x${letter.repeat(40)}`)) as [Partition, Partition];

/** Accounts that each have one notice to send. */
function open(post: Post) {
  const sent: Message[] = [];
  const webhooks = {
    post: (message: Message) => {
      sent.push(message);
      return post(message);
    },
  };
  const fixture = openFixture({}, { webhooks });
  const { ledger, gateway } = fixture;
  for (const account of [A, B]) {
    ledger.apply(account, createKey(`key of ${account}`));
    credit(account, 1_000);
    const events = ["credit.added"] as const;
    const id = `wh_${account.slice(-1)}`;
    const url = `https://${id}.example/`;
    ledger.apply(account, { type: "setWebhook", at: NOW, id, url, events, thresholdNanoUsd: null });
    credit(account, 2_000);
  }
  function credit(account: Partition, total: number): void {
    ledger.apply(account, hear(total, { at: NOW }));
  }
  const idOf = (message: Message | undefined) => message?.headers["webhook-id"];
  const notices = async (account: Partition) => (await ledger.read(account, { type: "webhooks" })).notices;
  return { ...fixture, sent, credit, idOf, notices, notifier: makeNotifier(gateway) };
}

const running = new AbortController().signal;

test("a receiver that hangs holds up its own account alone, and is not asked twice at once", async () => {
  const hanging = Promise.withResolvers<number>();
  const { notifier, sent, credit, notices } = open(({ url }) => {
    return url.includes("wh_a") ? hanging.promise : Promise.resolve(204);
  });
  await notifier.begin(running);
  while ((await notices(B))[0]?.isDelivered !== true) await new Promise(setImmediate);
  credit(B, 3_000);
  await notifier.begin(running);
  while ((await notices(B))[1]?.isDelivered !== true) await new Promise(setImmediate);
  assert.deepEqual(
    sent.map(({ url }) => url.slice(8, 12)),
    ["wh_a", "wh_b", "wh_b"],
  );
  hanging.resolve(200);
  await notifier.settled();
  assert.equal((await notices(A))[0]?.isDelivered, true);
});

test("a message whose result was lost is sent again, with the same id and body", async () => {
  const { notifier, ledger, sent, idOf, notices } = open(() => Promise.resolve(204));
  const { run } = ledger;
  ledger.run = () => Promise.reject(new Error("the process died"));
  await notifier.begin(running);
  await notifier.settled();
  assert.equal((await notices(A))[0]?.tries, 0);
  ledger.run = run;
  await notifier.begin(running);
  await notifier.settled();
  const ofA = sent.filter(({ url }) => url.includes("wh_a"));
  assert.deepEqual([ofA.length, idOf(ofA[0]), ofA[0]?.body], [2, idOf(ofA[1]), ofA[1]?.body]);
  assert.equal((await notices(A))[0]?.isDelivered, true);
});

test("while the disk is full a message is sent once, and its try is recorded when there is room", async () => {
  const { notifier, ledger, sent, notices } = open(() => Promise.resolve(204));
  const { run } = ledger;
  const room = Promise.withResolvers<void>();
  ledger.run = async (saga, options) => {
    if (options?.untilDurable !== true) throw new LedgerUnavailable("the disk is full");
    await room.promise;
    return run(saga);
  };
  for (let look = 0; look < 3; look += 1) await notifier.begin(running);
  while (sent.length < 2) await new Promise(setImmediate);
  await notifier.begin(running);
  room.resolve();
  await notifier.settled();
  assert.deepEqual([sent.length, (await notices(A))[0]?.isDelivered], [2, true]);
});

test("while nothing can be written, nothing is sent", async () => {
  const { notifier, ledger, sent } = open(() => Promise.resolve(204));
  Object.defineProperty(ledger, "writable", { value: false });
  await notifier.begin(running);
  await notifier.settled();
  assert.deepEqual(sent, []);
});

test("a stop waits for no receiver, and a message that it ended is sent again in full", async () => {
  const stop = new AbortController();
  const { notifier, sent, notices } = open(({ signal }) => {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new WebhookFailure("timeout"))));
  });
  await notifier.begin(stop.signal);
  while (sent.length < 2) await new Promise(setImmediate);
  stop.abort();
  await notifier.settled();
  const [first] = await notices(A);
  assert.deepEqual([first?.tries, first?.nextAt, first?.result], [0, NOW, null]);
});

test("a message that its receiver refuses is tried eight times, and holds up no other", async () => {
  const { notifier, time, credit, sent, idOf, notices } = open((message) =>
    idOf(message) === "wh_a_credit_2000" ? Promise.reject(new WebhookFailure("unreachable")) : Promise.resolve(204),
  );
  credit(A, 3_000);
  for (const wait of [0, ...NOTICE_WAITS_MS, 86_400_000]) {
    time.now += wait;
    for (let look = 0; look < 2; look += 1) {
      await notifier.begin(running);
      await notifier.settled();
    }
  }
  const ids = sent.map(idOf).filter((id) => id?.startsWith("wh_a"));
  assert.deepEqual(ids, ["wh_a_credit_2000", "wh_a_credit_3000", ...Array(7).fill("wh_a_credit_2000")]);
  const [first, second] = await notices(A);
  assert.deepEqual([first?.nextAt, first?.result, second?.isDelivered], [null, "unreachable", true]);
});

test("a webhook that was removed while its message was sent stays removed", async () => {
  const hanging = Promise.withResolvers<number>();
  const { notifier, ledger } = open(() => hanging.promise);
  await notifier.begin(running);
  ledger.apply(A, { type: "removeWebhook", id: "wh_a" });
  hanging.resolve(500);
  await notifier.settled();
  assert.deepEqual(await ledger.read(A, { type: "webhooks" }), { webhooks: [], notices: [] });
});
