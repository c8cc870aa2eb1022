import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import {
  deliveriesAnswer,
  newWebhookAnswer,
  webhooksAnswer,
  webhookTestAnswer,
} from "@inference/protocol/wire/webhooks";
import { Webhook } from "standardwebhooks";
import type * as z from "zod";
import { activate } from "../fund.ts";
import type { HostUnderTest, StartHost } from "../host.ts";

/** Webhooks over HTTP, with a real receiver, and with the public library that verifies the signatures. */
type Received = { path: string; headers: Record<string, string>; body: string };
type Delivery = z.infer<typeof deliveriesAnswer>["data"][number];

/** A prompt of 100 tokens and 100 of answer: 75,000 nano-dollars exactly. */
const chat = {
  model: "sim-small",
  messages: [{ role: "user", content: "[[prompt=100]] [[tokens=100]]" }],
  max_tokens: 100,
};
const FOUR_MINUTES = 4 * 60_000;

/** The event of a message with the secret's signature at its time: the host's clock may be ahead of this process's. */
function verified(message: Received | undefined, secret: string): { type: string; data: Record<string, unknown> } {
  const { headers, body } = message ?? assert.fail("nothing was received");
  const sentAt = new Date(1000 * Number(headers["webhook-timestamp"]));
  const sign = (text: string): string => new Webhook(secret).sign(headers["webhook-id"] ?? "", sentAt, text);
  assert.equal(headers["webhook-signature"], sign(body));
  assert.notEqual(headers["webhook-signature"], sign(`${body} `));
  return JSON.parse(body) as ReturnType<typeof verified>;
}

export function testWebhooks(start: StartHost): void {
  describe("webhooks", () => {
    let host: HostUnderTest;
    let receiver: LocalServer;
    let url: string;
    const received: Received[] = [];
    /** How the receiver answers. */
    let answer: (response: ServerResponse) => void;

    async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const headers = request.headers as Record<string, string>;
      received.push({ path: request.url ?? "", headers, body: Buffer.concat(chunks).toString() });
      answer(response);
    }

    before(async () => {
      // A receiver that hangs is given up sooner.
      host = await start({ hurry: 2 });
      receiver = await listenLocally(createServer((request, response) => void receive(request, response)));
      url = `${receiver.url}/hook?a=b`;
    });
    beforeEach(() => {
      received.length = 0;
      answer = (response) => response.writeHead(204).end();
    });
    after(async () => {
      await receiver.close();
      await host.stop();
    });

    async function ask<S extends z.ZodType>(
      session: string,
      path: string,
      schema: S,
      { method, body }: { method?: string; body?: unknown } = {},
    ): Promise<z.infer<S>> {
      const response = await host.call(`/api/v1/webhooks${path}`, {
        key: session,
        ...(method === undefined ? {} : { method }),
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      assert.ok(response.ok, text);
      return schema.parse(JSON.parse(text));
    }

    async function customer(balanceNanoUsd: number, body: { events: string[]; threshold?: string }) {
      const account = await host.account(balanceNanoUsd);
      const session = await host.openSession(account.address);
      const made = await ask(session, "", newWebhookAnswer, { body: { url, ...body } });
      return { ...account, session, ...made };
    }

    async function delivery(session: string, isOver: (one: Delivery) => boolean): Promise<Delivery> {
      return eventually(async () => {
        await host.sendNotices();
        const { data } = await ask(session, "/deliveries", deliveriesAnswer);
        return data.length > 0 && data.every(isOver) && (data[0] as Delivery);
      });
    }

    async function chatOnce(key: string): Promise<void> {
      const response = await host.call("/v1/chat/completions", { key, body: chat });
      assert.equal(response.status, 200, await response.text());
    }

    test("32 requests at once that cross a threshold are told once, with the signature of the public library", async () => {
      const { key, session, secret, data, address } = await customer(50_000_000, {
        events: ["balance.low"],
        threshold: "0.049",
      });
      await Promise.all(Array.from({ length: 32 }, () => chatOnce(key)));
      const { id, type, result } = await delivery(session, ({ status }) => status === "delivered");
      assert.deepEqual([type, result], ["balance.low", "204"]);
      const { path, headers } = received[0] ?? assert.fail();
      assert.deepEqual([path, headers["content-type"], headers["webhook-id"]], ["/hook?a=b", "application/json", id]);
      const event = verified(received[0], secret);
      const { account, balance, balance_nano_usd, threshold } = event.data;
      assert.deepEqual(
        [event.type, account, balance, balance_nano_usd, threshold],
        ["balance.low", address, 0.04895, 48_950_000, 0.049],
      );
      assert.deepEqual(new Set(received.map((one) => one.headers["webhook-id"])), new Set([id]));
      assert.deepEqual((await ask(session, "", webhooksAnswer)).data, [data]);
    });

    test("an event that is not accepted is told again with its id, without following a redirect", async () => {
      const { session, address } = await customer(1_000_000, { events: ["credit.added"] });
      answer = (response) => response.writeHead(302, { location: "/elsewhere" }).end();
      await activate(host.put, address, 3_000_000);
      const failed = await delivery(session, ({ attempts }) => attempts > 0);
      assert.deepEqual([failed.status, failed.result], ["pending", "302"]);
      answer = (response) => response.writeHead(200).end("thanks");
      await host.goTo(host.now() + FOUR_MINUTES);
      const told = await delivery(session, ({ status }) => status === "delivered");
      assert.deepEqual([told.id, told.attempts > 1, told.result], [failed.id, true, "200"]);
      for (const { path, headers } of received) assert.deepEqual([path, headers["webhook-id"]], ["/hook?a=b", told.id]);
      const { data } = JSON.parse(received[0]?.body ?? "") as { data: Record<string, unknown> };
      assert.deepEqual([data.amount_nano_usd, data.balance_nano_usd], [2_000_000, 3_000_000]);
    });

    test("a test says how the receiver answered, also one that hangs, hangs up or sends without end", async () => {
      const { session, data, secret } = await customer(1_000_000, { events: ["credit.added"] });
      const ways: [string, (response: ServerResponse) => void][] = [
        ["204", (response) => response.writeHead(204).end()],
        ["500", (response) => response.writeHead(500).end()],
        ["timeout", () => undefined],
        ["unreachable", (response) => response.destroy()],
        ["200", (response) => response.writeHead(200).write("and so on")],
      ];
      for (const [result, way] of ways) {
        answer = way;
        const tried = await ask(session, `/${data.id}/test`, webhookTestAnswer, { method: "POST" });
        assert.deepEqual(tried.data, { delivered: result === "204" || result === "200", result });
      }
      assert.equal(verified(received[0], secret).type, "ping");
      await ask(session, `/${data.id}/test`, webhookTestAnswer, { method: "POST" });
      const seventh = await host.call(`/api/v1/webhooks/${data.id}/test`, { key: session, method: "POST" });
      assert.equal(seventh.status, 429);
    });

    test("a webhook belongs to its wallet, and a removed one is told nothing", async () => {
      const { session, data, key, address } = await customer(1_000_000, { events: ["credit.added"] });
      const other = await host.openSession((await host.account(1_000_000)).address);
      for (const path of [`/${data.id}/test`, `/${data.id}`]) {
        const method = path.endsWith("test") ? "POST" : "DELETE";
        for (const [credential, status] of [
          [other, 404],
          [key, 403],
        ] as const) {
          const refused = await host.call(`/api/v1/webhooks${path}`, { key: credential, method });
          assert.equal(refused.status, status);
        }
      }
      answer = (response) => response.writeHead(500).end();
      await activate(host.put, address, 2_000_000);
      await delivery(session, ({ attempts }) => attempts > 0);
      await host.call(`/api/v1/webhooks/${data.id}`, { key: session, method: "DELETE" });
      const left = await host.read(accountPartition(address), { type: "webhooks" });
      assert.deepEqual(left, { webhooks: [], notices: [] });
    });
  });
}
