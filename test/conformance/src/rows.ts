import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Calls } from "./clients/client.ts";
import type { Exchange } from "./exchange.ts";

/**
 * The behaviours of the table, each written once for every client. Before the requests of a row its key has spent
 * nothing; after it, what they did is held against their receipts.
 */
export type Row = {
  /** `endpoint: behaviour`. */
  name: string;
  /** The query of the key's terms, where the row wants a key with a limit. */
  terms?: string;
  retries?: number;
  /** The client leaves before its answer begins, and so never sees the id of its receipt. */
  leavesEarly?: true;
  run(calls: Calls, cell: Cell): Promise<void>;
};

type Cell = {
  exchanges: readonly Exchange[];
  waitsInside: boolean;
  /** A request past the client, with the same key, that holds most of a small limit for a second. */
  holdMost(): Promise<{ done: Promise<unknown> }>;
};

const MODEL = "sim-small";
/** The most that `ask` can cost is between this limit and half of it. */
const ONE_REQUEST = "limit=0.0002";

function ask(markers: string, more: Partial<Ask> = {}): Ask {
  return { model: MODEL, text: `A word on harbours. [[tokens=25]]${markers}`, maxTokens: 100, ...more };
}

export const rows: readonly Row[] = [
  {
    name: "chat: whole",
    async run(calls) {
      const { text, finish } = await calls.chat(ask(""));
      assert.ok(text.length > 0);
      assert.equal(finish, "stop");
    },
  },
  {
    name: "chat: stream",
    async run(calls) {
      const pieces: string[] = [];
      const { text, finish } = await calls.streamChat(ask("[[drip=2]]"), (piece) => pieces.push(piece));
      assert.equal(text, (await calls.chat(ask("[[drip=2]]"))).text, "the same text as in one piece");
      assert.equal(pieces.join(""), text);
      assert.ok(pieces.length > 5, `the text came in ${pieces.length} pieces`);
      assert.equal(finish, "stop");
    },
  },
  {
    name: "chat: usage",
    async run(calls) {
      const { usage } = await calls.chat(ask(""));
      assert.equal(usage?.completion, 25);
      assert.ok((usage?.prompt ?? 0) > 0);
    },
  },
  {
    name: "chat: usage of a stream",
    async run(calls) {
      const { usage } = await calls.streamChat(ask(""), () => {});
      assert.deepEqual(usage, (await calls.chat(ask(""))).usage);
    },
  },
  {
    name: "chat: tools",
    run: async (calls) => assertCalled(await calls.chat(ask("[[finish=tool_calls]]", { withTool: true }))),
  },
  {
    name: "chat: tools in a stream",
    run: async (calls) =>
      assertCalled(await calls.streamChat(ask("[[finish=tool_calls]]", { withTool: true }), () => {})),
  },
  {
    name: "chat: error",
    run: (calls, cell) => assertUnknownModel(calls, cell, () => calls.chat(ask("", { model: "nobody" }))),
  },
  {
    name: "chat: error amid a stream",
    async run(calls) {
      let text = "";
      const error = await thrownBy(() =>
        calls.streamChat(ask("[[fault=error-after-content]]"), (piece) => {
          text += piece;
        }),
      );
      assert.ok(text.length > 0, "what came before the error is there");
      assert.match(calls.failure(error).message, /provider/i);
    },
  },
  {
    name: "chat: no retry of what will not heal",
    terms: "limit=0.000001",
    retries: 3,
    async run(calls, { exchanges }) {
      const { status, code } = calls.failure(await thrownBy(() => calls.chat(ask(""))));
      assert.deepEqual([status, code, exchanges.length], [402, "key_limit_exceeded", 1]);
    },
  },
  {
    name: "chat: retry",
    terms: ONE_REQUEST,
    retries: 6,
    async run(calls, { exchanges, waitsInside, holdMost }) {
      const { done } = await holdMost();
      const { finish } = await calls.chat(ask(""));
      await done;
      assert.equal(finish, "stop");
      const statuses = exchanges.map(({ status }) => status);
      assert.deepEqual([statuses[0], statuses.at(-1)], [waitsInside ? 200 : 429, 200]);
    },
  },
  {
    name: "chat: abort",
    leavesEarly: true,
    async run(calls) {
      const controller = new AbortController();
      const answer = thrownBy(() => calls.chat(ask("[[delay=1500]]", { signal: controller.signal })));
      await sleep(200);
      controller.abort();
      await answer;
    },
  },
  {
    name: "chat: abort amid a stream",
    async run(calls) {
      const controller = new AbortController();
      let pieces = 0;
      const leave = (): void => {
        pieces += 1;
        if (pieces === 5) controller.abort();
      };
      const text = "A word on harbours. [[tokens=100]][[drip=20]]";
      await thrownBy(() => calls.streamChat(ask("", { text, signal: controller.signal }), leave));
      assert.ok(pieces >= 5 && pieces < 100, `${pieces} pieces`);
    },
  },
  {
    name: "models: list",
    async run(calls) {
      const ids = await calls.models();
      for (const id of [MODEL, "sim-embedding", "sim-image", "sim-speech"]) assert.ok(ids.includes(id), id);
      assert.ok(!ids.includes("sim-unpriced"));
    },
  },
  {
    name: "models: one",
    async run(calls, cell) {
      assert.equal(await calls.findModel(MODEL), MODEL);
      await assertUnknownModel(calls, cell, () => calls.findModel("nobody"));
    },
  },
  {
    name: "embeddings: whole",
    async run(calls) {
      const texts = ["one", "two", "one"];
      const { vectors } = await calls.embed({ model: "sim-embedding", texts });
      assert.deepEqual(
        vectors.map(({ length }) => length),
        [256, 256, 256],
      );
      assert.deepEqual(vectors[0], vectors[2]);
      assert.notDeepEqual(vectors[0], vectors[1]);
    },
  },
  {
    name: "embeddings: usage",
    async run(calls) {
      const { tokens } = await calls.embed({ model: "sim-embedding", texts: ["one two three"] });
      assert.ok(tokens > 0, `${tokens} tokens`);
    },
  },
  {
    name: "embeddings: error",
    run: (calls, cell) => assertUnknownModel(calls, cell, () => calls.embed({ model: "nobody", texts: ["one"] })),
  },
  {
    name: "images: whole",
    async run(calls) {
      const bytes = await calls.image({ model: "sim-image", prompt: "A harbour." });
      assert.equal(Buffer.from(bytes.subarray(1, 4)).toString(), "PNG");
    },
  },
  {
    name: "images: error",
    run: (calls, cell) => assertUnknownModel(calls, cell, () => calls.image({ model: "nobody", prompt: "A harbour." })),
  },
  {
    name: "speech: whole",
    async run(calls) {
      const text = "Good morning.";
      const bytes = await calls.speak({ model: "sim-speech", text });
      assert.ok(bytes.length >= text.length * 64, `${bytes.length} bytes`);
    },
  },
  {
    name: "speech: error",
    run: (calls, cell) =>
      assertUnknownModel(calls, cell, () => calls.speak({ model: "nobody", text: "Good morning." })),
  },
];

/** The rows that every API has which answers a conversation. */
export const answerRows: readonly Row[] = rows.filter(({ name }) => name.startsWith("chat: "));

function assertCalled({ finish, calls }: Awaited<ReturnType<Calls["chat"]>>): void {
  assert.equal(finish, "tool_calls");
  assert.deepEqual(
    calls.map(({ name }) => name),
    ["look_up"],
  );
  assert.equal(typeof (JSON.parse(calls[0]?.arguments ?? "") as { text: unknown }).text, "string");
}

async function assertUnknownModel(calls: Calls, { exchanges }: Cell, act: () => Promise<unknown>): Promise<void> {
  const before = exchanges.length;
  const { status, code, message } = calls.failure(await thrownBy(act));
  assert.deepEqual([status, code], [404, "model_not_found"]);
  assert.match(message, /nobody/);
  assert.equal(exchanges.length, before + 1);
}

async function thrownBy(act: () => Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([act()]);
  assert.ok(result.status === "rejected", "there was no error");
  return result.reason;
}
