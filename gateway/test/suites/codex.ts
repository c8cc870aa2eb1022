import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { settledOf, sum } from "../settlement/audit.ts";

const USD = 1_000_000_000;

type Item = { type: string; id?: string; call_id?: string; encrypted_content?: string } & Record<string, unknown>;
type Recording = { body: { input: Item[] } & Record<string, unknown>; turns: Item[][] };
type Event = { type: string; response?: { output: Item[] } };

/**
 * A body of Codex 0.169.0, recorded by `test/conformance/src/codex.test.ts`: long texts are left out. Each task reads a
 * file, applies a patch and finishes.
 */
const fixture = new URL("../formats/fixtures/codex.json", import.meta.url);
const recordings = JSON.parse(readFileSync(fixture, "utf8")) as Record<string, Recording>;

/** Replays tasks turn by turn, with the answers of now in place of the recorded ones. */
export function testCodex(start: StartHost): void {
  describe("a recorded task of Codex", () => {
    const host = hostFor(start);

    for (const [name, { body, turns }] of Object.entries(recordings)) {
      test(`comes to its end, ${name}`, async () => {
        const account = await host.account(USD);
        let input = body.input;
        for (const turn of [...turns, []]) {
          const output = await answerTo({ ...body, model: "sim-small", input }, account.key);
          if (turn.length === 0) {
            assert.deepEqual(
              output.map(({ type }) => type),
              ["message"],
            );
            assert.match(JSON.stringify(output), /Done: the second line is zwei\./);
          } else input = [...input, ...renewed(turn, output)];
        }
        assertToolsFollowCalls();
        const settled = await settledOf(host, account.address);
        assert.equal(settled.length, turns.length + 1);
        const { settledNanoUsd } = await host.balance(account.address);
        assert.equal(sum(settled.map(({ receipt }) => receipt.chargeNanoUsd)), settledNanoUsd);
        assert.ok(settled.every(({ detail }) => detail.basis === "usage"));
      });
    }

    async function answerTo(body: object, key: string): Promise<Item[]> {
      const answer = await host.call("/v1/responses", { key, body, headers: { accept: "text/event-stream" } });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      const ignored = answer.headers.get("x-ignored-parameters") ?? "";
      assert.match(ignored, /store.*include.*client_metadata/);
      const events = text
        .split("\n\n")
        .filter((block) => block.startsWith("event: "))
        .map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)) as Event);
      const last = events.at(-1);
      assert.equal(last?.type, "response.completed", text);
      return last?.response?.output ?? [];
    }

    /** The last body that the provider got: each answer of a tool directly follows its call. */
    function assertToolsFollowCalls(): void {
      const [record] = host.simulator.simulator.records.select(({ method }) => method === "POST", 1);
      const { messages } = JSON.parse(record?.body ?? "") as {
        messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[];
      };
      const [, ...rest] = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
      const expected = rest.flatMap(({ role, tool_calls: calls = [] }) =>
        role === "assistant" ? ["assistant", ...calls.map(({ id }) => id)] : [],
      );
      assert.deepEqual(
        rest.map(({ role, tool_call_id: id }) => id ?? role),
        expected,
      );
      assert.ok(expected.length >= 4, String(expected));
    }
  });
}

/** A recorded turn as Codex would send it back after this answer: the same items, with the answer's ids and seals. */
function renewed(turn: readonly Item[], output: readonly Item[]): Item[] {
  const callIds = new Map<unknown, unknown>();
  return turn.map((recorded, index) => {
    const { id, call_id: callId, encrypted_content: sealed } = output[index] ?? {};
    if (index >= output.length) return { ...recorded, call_id: callIds.get(recorded.call_id) as string };
    callIds.set(recorded.call_id, callId);
    const item: Item = {
      ...recorded,
      ...(id === undefined ? {} : { id }),
      ...(callId === undefined ? {} : { call_id: callId }),
      ...(sealed === undefined ? {} : { encrypted_content: sealed }),
    };
    // Codex adds an empty `content` to reasoning, and else sends what it got.
    const { content, ...rest } = item;
    assert.deepEqual(content === null ? rest : item, output[index], "the answer is what was recorded");
    return item;
  });
}
