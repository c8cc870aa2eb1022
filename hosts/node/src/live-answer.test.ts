import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits } from "@inference/gateway/config";
import { UpstreamFailure } from "@inference/gateway/environment";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostFor, hostWithStub } from "@inference/gateway/test/host-for";
import { sendHttp, type WireAnswer } from "@inference/gateway/test/http-client";
import { settledOf, settledOne } from "@inference/gateway/test/settlement/audit";
import { chunksIn, openChatStream } from "@inference/gateway/test/settlement/chat-stream";
import { routeBodies } from "@inference/gateway/test/settlement/faulty-settlements";
import { leaveAtOnce, payAndLeave, SMALL, USD } from "@inference/gateway/test/settlement/pay";
import type { StubAnswer } from "@inference/gateway/test/settlement/stub-provider";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command, Reply } from "@inference/ledger/commands";
import { accountPartition } from "@inference/ledger/partition";
import type { Saga } from "@inference/ledger/saga";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/**
 * Requests whose ledger or provider fails them while they run. On Node alone: it stops and fails single commands of the
 * ledger.
 */
type Gate = (command: Command, goOn: () => Promise<Reply>) => Promise<Reply>;

/** For as long as `act` runs, what begins with one of these commands goes through the gate. */
async function withGate<T>(stack: Stack, types: Command["type"][], gate: Gate, act: () => Promise<T>): Promise<T> {
  const { environment } = stack.gateway;
  const { ledger } = environment;
  environment.ledger = {
    ...ledger,
    get writable() {
      return ledger.writable;
    },
    run<R>(saga: () => Saga<R>, options?: { untilDurable?: boolean }): Promise<R> {
      const first = saga().next();
      const goOn = (): Promise<R> => ledger.run(saga, options);
      return first.done || !types.includes(first.value.command.type)
        ? goOn()
        : (gate(first.value.command, goOn as () => Promise<Reply>) as Promise<R>);
    },
  } satisfies LedgerClient;
  try {
    return await act();
  } finally {
    environment.ledger = ledger;
  }
}

const chat = { model: "sim-small", messages: [{ role: "user", content: "hi" }], max_tokens: 50 };

function event(choice: object, more: object = {}): string {
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "sim-small", ...more };
  return `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, ...choice }] })}\n\n`;
}

function token(content: string, more: object = {}): string {
  return event({ delta: { content }, finish_reason: null }, more);
}

const COMMENT = ": PROCESSING\n\n";

function streamOf(body: () => AsyncIterable<string>): StubAnswer {
  return { headers: { "content-type": "text/event-stream" }, body };
}

function answerOf(model: string): StubAnswer {
  const choices = [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return { body: JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }) };
}

describe("an answer whose end the ledger does not have", () => {
  const { host: stack, provider } = hostWithStub(startStack);

  for (const status of ["unknown", "already_resolved", "exceeds_hold"] as const) {
    test(`is not sent when the settle is answered with ${status}`, async () => {
      const account = await stack.account(USD);
      provider.say(answerOf("sim-small"));
      const before = stack.logged.length;
      const { chargedNanoUsd, lostNanoUsd } = stack.gateway.metrics.counts;
      const answer = await withGate(
        stack,
        ["settle"],
        async () => ({ status }),
        () => ask(stack, account),
      );
      assertError(answer, 503, "ledger_unavailable");
      const alerts = stack.logged.slice(before).filter(({ level }) => level === "alert");
      assert.deepEqual(
        alerts.map(({ event }) => event),
        ["settle_failed"],
      );
      assert.match(String(alerts[0]?.fields.error), new RegExp(status));
      assert.equal(stack.gateway.live.size, 0, "its hold is nobody's");
      const { counts } = stack.gateway.metrics;
      assert.deepEqual([counts.chargedNanoUsd, counts.lostNanoUsd], [chargedNanoUsd, lostNanoUsd]);
    });
  }

  const secret = token("content that never leaves");
  const bodies = {
    "": `${secret}data: [DONE]\n\n`,
    ", after a comment,": COMMENT + secret,
    ", unended,": secret.trim(),
  };
  for (const [how, body] of Object.entries(bodies)) {
    test(`a stream whose first checkpoint fails${how} ends in an error, without content, and is free`, async () => {
      const account = await stack.account(USD);
      const fail = async (): Promise<Reply> => {
        throw new LedgerUnavailable("no");
      };
      async function* one(): AsyncGenerator<string> {
        yield body;
      }
      provider.say(streamOf(one));
      const text = await withGate(stack, ["checkpoint"], fail, async () => {
        const stream = await openChatStream(stack, account, chat);
        assert.ok(await stream.readAll());
        return stream.text();
      });
      const chunks = chunksIn(text);
      assert.deepEqual(
        chunks.map(({ error }) => error?.code),
        ["ledger_unavailable"],
      );
      const { receipt } = await settledOne(stack, account.address);
      assert.deepEqual([receipt.state, receipt.chargeNanoUsd], ["released", 0]);
    });
  }

  test("a client that leaves before the first checkpoint is durable pays for its prompt alone", async () => {
    const account = await stack.account(USD);
    let goOn: (() => void) | undefined;
    const wait: Gate = async (_command, commit) => {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return commit();
    };
    async function* cut(): AsyncGenerator<string> {
      yield token("content that never leaves");
      throw new Error("the connection breaks off");
    }
    provider.say(streamOf(cut));
    await withGate(stack, ["checkpoint"], wait, async () => {
      const stream = await openChatStream(stack, account, chat);
      const checkpoint = await eventually(() => goOn ?? false);
      stream.leave();
      // The gateway sees it a moment later.
      await new Promise((resolve) => setTimeout(resolve, 50));
      checkpoint();
    });
    const { receipt } = await settledOne(stack, account.address);
    const prompt = receipt.heldNanoUsd - chat.max_tokens * SMALL.completionNanoUsd;
    assert.ok(Math.abs(receipt.chargeNanoUsd - prompt) <= 1, `${receipt.chargeNanoUsd} of ${prompt}`);
  });

  test("no route reaches the provider when the ledger cannot write", async () => {
    const account = await stack.account(USD);
    let asked = 0;
    provider.say({
      async *body() {
        asked += 1;
        yield "{}";
      },
    });
    const refuse = () => Promise.reject(new LedgerUnavailable("no"));
    await withGate(stack, ["reserve"], refuse, async () => {
      for (const [path, makeBody] of Object.entries(routeBodies)) {
        const answer = await stack.call(path, { key: account.key, body: makeBody("x") });
        assert.equal(answer.status, 503, path);
        assert.match(await answer.text(), /"code":"ledger_unavailable"/);
      }
    });
    assert.equal(asked, 0);
    provider.say(answerOf("sim-small"));
    assert.equal((await ask(stack, account)).status, 200, "and then again");
  });
});

describe("what the provider does", () => {
  const { host: stack, provider } = hostWithStub(startStack);

  test("a stream of far more than was asked for is given up as it comes, and its client is told so", async () => {
    const account = await stack.account(USD);
    let sent = 0;
    async function* endless(): AsyncGenerator<string> {
      for (; sent < 1_000_000; sent += 100) yield token("a").repeat(100);
    }
    provider.say(streamOf(endless));
    const stream = await openChatStream(stack, account, chat);
    assert.ok(await stream.readAll());
    const most = 2 * chat.max_tokens + limits.excessEvents;
    // Tokens in the buffers were sent and not read.
    assert.ok(sent > most - 200 && sent < 200_000, `${sent} tokens were sent`);
    assert.ok(stream.tokens() < most + 1_000, `${stream.tokens()} tokens were passed on`);
    const error = chunksIn(stream.text()).at(-1)?.error;
    assert.match(String(error?.message), /longer than requested/);
    const { receipt } = await settledOne(stack, account.address);
    assert.equal(receipt.chargeNanoUsd, receipt.heldNanoUsd);
  });

  test("an id of the provider's is cut to 200 characters in a stream too", async () => {
    const account = await stack.account(USD);
    async function* long(): AsyncGenerator<string> {
      yield token("a", { id: "x".repeat(5_000) });
      yield event({ delta: {}, finish_reason: "stop" });
      yield "data: [DONE]\n\n";
    }
    provider.say(streamOf(long));
    assert.ok(await (await openChatStream(stack, account, chat)).readAll());
    const { receipt, detail } = await settledOne(stack, account.address);
    assert.equal(detail.upstreamId, "x".repeat(200));
    assert.equal(receipt.upstreamId, "x".repeat(200));
  });

  const nameless = { id: undefined };
  const openings: Record<string, readonly [parts: string[], id: string | null]> = {
    "names the answer before its content": [[event({ delta: { role: "assistant" } }), token("a")], "chatcmpl-1"],
    "begins with a comment": [[COMMENT, token("a")], "chatcmpl-1"],
    "begins with a comment in one write with its content": [[COMMENT + token("a")], "chatcmpl-1"],
    "names the answer amid its content": [[COMMENT, token("a", nameless), token("b")], "chatcmpl-1"],
    "never names the answer": [[COMMENT, token("a", nameless)], null],
  };
  for (const [what, [parts, id]] of Object.entries(openings)) {
    test(`of a stream that ${what}, no content leaves before the ledger knows the answer's name`, async () => {
      const account = await stack.account(USD);
      const heard = parts.map(() => Promise.withResolvers<void>());
      async function* body(): AsyncGenerator<string> {
        for (const [index, part] of parts.entries()) {
          yield part;
          await heard[index]?.promise;
        }
      }
      provider.say(streamOf(body));
      let writes = 0;
      const counted: Gate = (_command, commit) => {
        writes += 1;
        return commit();
      };
      await withGate(stack, ["checkpoint"], counted, async () => {
        const stream = await openChatStream(stack, account, chat);
        let text = "";
        for (const [index, part] of parts.entries()) {
          text += part;
          assert.ok(await stream.readUntil(() => stream.text() === text), `${what}: ${stream.text()}`);
          if (index < parts.length - 1) heard[index]?.resolve();
        }
        const [hold] = await stack.rows("receipt", accountPartition(account.address));
        assert.deepEqual([hold?.state, hold?.upstreamId], ["open", id]);
        assert.equal(writes, what === "names the answer amid its content" ? 2 : 1);
        heard.at(-1)?.resolve();
        await stream.readAll();
      });
    });
  }

  test("a checkpoint that fails once content has left breaks nothing off, and the answer costs what it used", async () => {
    const account = await stack.account(USD);
    const whole = `${token("a", nameless)}${token("b")}data: [DONE]\n\n`;
    const heard = Promise.withResolvers<void>();
    async function* body(): AsyncGenerator<string> {
      yield token("a", nameless);
      await heard.promise;
      yield `${token("b")}data: [DONE]\n\n`;
    }
    provider.say(streamOf(body));
    let writes = 0;
    const failsLater: Gate = (_command, commit) => {
      writes += 1;
      if (writes > 1) throw new LedgerUnavailable("no");
      return commit();
    };
    await withGate(stack, ["checkpoint"], failsLater, async () => {
      const stream = await openChatStream(stack, account, chat);
      assert.ok(await stream.readUntil(() => stream.text() === token("a", nameless)));
      heard.resolve();
      assert.ok(await stream.readAll());
      assert.equal(stream.text(), whole);
    });
    assert.ok(writes > 1, "one failed");
    const { receipt } = await settledOne(stack, account.address);
    assert.equal(receipt.state, "settled");
    assert.ok(receipt.chargeNanoUsd > 0);
  });

  test("an answer by another model is told to the operator once", async () => {
    const account = await stack.account(USD);
    provider.say(answerOf("other"));
    await ask(stack, account);
    const told = stack.logged.filter(({ event }) => event === "other_model");
    assert.deepEqual(
      told.map(({ level, fields }) => [level, fields.asked, fields.answered]),
      [["alert", "sim-small", "other"]],
    );
    provider.say(answerOf("sim-small"));
    assert.equal((await ask(stack, account)).status, 200);
    assert.equal(stack.logged.filter(({ event }) => event === "other_model").length, 1);
  });
});

describe("a client that has gone", () => {
  const stack = hostFor(() => startStack({ drainMs: 20 }));

  test("costs nothing, and nothing is sent again, if the provider was never reached", async () => {
    const account = await stack.account(USD);
    const { upstream } = stack.gateway.environment;
    const { send } = upstream;
    const abort = new AbortController();
    let sends = 0;
    upstream.send = async (request) => {
      if (request.method === "GET") return send(request);
      sends += 1;
      abort.abort();
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve, { once: true }));
      throw new UpstreamFailure("not_sent", "no connection");
    };
    try {
      const call = stack.call("/v1/chat/completions", { key: account.key, body: chat, signal: abort.signal });
      await assert.rejects(call, { name: "AbortError" });
      const { receipt } = await settledOne(stack, account.address);
      assert.deepEqual([receipt.state, receipt.chargeNanoUsd, sends], ["released", 0, 1]);
    } finally {
      upstream.send = send;
    }
  });

  test("leaves no live request behind", async () => {
    stack.simulator.simulator.change({ abortBilling: "none" });
    const body = (tag: string): object => ({ ...chat, messages: [{ role: "user", content: `${tag}[[delay=300]]` }] });
    const paid = await payAndLeave(stack, leaveAtOnce(), body);
    await settledOf(stack, paid.account.address);
    assert.equal(stack.gateway.live.size, 0);
  });
});

function ask(stack: Stack, { key }: TestAccount): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return sendHttp(stack.url, { path: "/v1/chat/completions", headers, body: JSON.stringify(chat) });
}
