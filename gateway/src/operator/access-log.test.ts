import assert from "node:assert/strict";
import { test } from "node:test";
import { makeAccessLog } from "./access-log.ts";

const answer = { at: 1_000, route: "POST /v1/chat/completions", status: 200, code: null };
const served = { model: "m", costNanoUsd: 7 };

function open() {
  const lines: unknown[] = [];
  const live = new Set<string>();
  const clock = { now: () => 1_250 };
  const log = makeAccessLog({ clock, log: (_, event, fields) => lines.push({ event, ...fields }) }, live);
  return { log, live, lines };
}

const { at: _, ...shown } = answer;
const line = { event: "access", request: "r", ...shown, ms: 250, model: "m", costNanoUsd: 7 };

test("a request has one line, with its cost, whether its end or its answer is first", () => {
  for (const isStream of [false, true]) {
    const { log, live, lines } = open();
    live.add("r");
    if (isStream) log.answered("r", answer);
    live.delete("r");
    log.ended("r", served);
    assert.equal(lines.length, isStream ? 1 : 0);
    if (!isStream) log.answered("r", answer);
    assert.deepEqual(lines, [line]);
  }
});

test("a request that was not admitted, or whose charge is not known, has a line without a cost", () => {
  const { log, live, lines } = open();
  log.answered("r", { ...answer, status: 402, code: "insufficient_balance" });
  live.add("s");
  log.answered("s", answer);
  log.ended("s", null);
  const none = { model: null, costNanoUsd: null };
  assert.deepEqual(lines, [
    { ...line, status: 402, code: "insufficient_balance", ...none },
    { ...line, request: "s", ...none },
  ]);
});
