import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { LedgerUnavailable } from "@inference/ledger/client";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { GatewayError } from "@inference/protocol/errors";
import { type Channel, type Handlers, openChannel } from "./channel.ts";

/** Two sides, and the messages that the first has sent. */
function open(handlers: Handlers): { near: Channel; messages: unknown[]; close(): void } {
  const { port1, port2 } = new MessageChannel();
  const messages: unknown[] = [];
  const post = port1.postMessage.bind(port1);
  port1.postMessage = (value: unknown) => {
    messages.push(value);
    post(value);
  };
  openChannel(port2, handlers);
  return { near: openChannel(port1, {}), messages, close: () => port1.close() };
}

test("what is asked in one turn is one message, and each call gets its own answer, whatever the order", async () => {
  const told: string[] = [];
  const { near, messages, close } = open({
    later: (value: number) => new Promise((resolve) => setTimeout(resolve, value, value)),
    note: (text: string) => told.push(text),
  });
  try {
    near.tell("note", "first");
    const answers = [20, 1, 10].map((ms) => near.call<number>("later", ms));
    near.tell("note", "second");
    assert.deepEqual(await Promise.all(answers), [20, 1, 10]);
    assert.equal(messages.length, 1);
    assert.deepEqual(told, ["first", "second"]);
  } finally {
    close();
  }
});

test("an error keeps the class and the detail that the gateway tells apart", async () => {
  const detail = { code: "rate_limited", message: "Too many.", retryAfterS: 5 } as const;
  const errors = [
    new LedgerUnavailable("full"),
    new ChainUnavailable("no node"),
    new GatewayError(detail),
    new TypeError("x"),
  ];
  const { near, close } = open({
    async fail(index: number) {
      throw errors[index];
    },
  });
  try {
    await assert.rejects(
      near.call("fail", 0),
      (error) => error instanceof LedgerUnavailable && error.message === "full",
    );
    await assert.rejects(near.call("fail", 1), ChainUnavailable);
    await assert.rejects(
      near.call("fail", 2),
      (error) => error instanceof GatewayError && error.detail.retryAfterS === 5,
    );
    await assert.rejects(near.call("fail", 3), /^Error: x$/);
    await assert.rejects(near.call("nothing"), /there is no nothing/);
  } finally {
    close();
  }
});

test("when the other side has ended, calls that wait and later ones fail", async () => {
  const { near, close } = open({ never: () => new Promise(() => undefined) });
  try {
    const call = near.call("never");
    near.end(new Error("gone"));
    await assert.rejects(call, /gone/);
    await assert.rejects(near.call("never"), /gone/);
  } finally {
    close();
  }
});
