import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, configure, json, lastRecord, start } from "./client.ts";
import { FAULTS } from "./faults.ts";

const REQUESTS = 400;
const AT_ONCE = 20;

/** A small generator, so that a failing run can be run again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("with any fault and any departure, each request ends, and records, bill and history agree", async () => {
  await using provider = await start({ slowDripMs: 1, bigEventBytes: 50_000, clock: Date.now });
  const faults = [...Object.keys(FAULTS), "", "", ""].filter((name) => name !== "500-large");
  const next = random(20_260_615);
  let left = REQUESTS;
  const one = async (): Promise<void> => {
    const fault = faults[next(faults.length)] ?? "";
    const content = `[[tokens=${next(40)}]] [[drip=${next(3)}]] [[delay=${next(8)}]] ${fault === "" ? "" : `[[fault=${fault}]]`}`;
    const leaving = next(2) === 0 || /^(endless|byte-drip|hang|stall)/.test(fault);
    const abortBilling = (["full", "partial", "none"] as const)[next(3)] ?? "full";
    if (next(10) === 0) await configure(provider, { abortBilling });
    const more = { stream: next(2) === 0, n: 1 + next(2) };
    await chat(provider, "sim-fine", content, more, leaving ? { leaveAfterMs: next(60) } : {});
  };
  const worker = async (): Promise<void> => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await lastRecord(provider);

  const { records, ledger } = provider.simulator;
  const chats = records.select(({ billedAtto }) => billedAtto !== null, 10_000);
  assert.ok(chats.length > REQUESTS / 2 && chats.some((record) => record.aborted !== null));
  assert.equal(
    ledger.totals.atto,
    chats.reduce((sum, { billedAtto }) => sum + (billedAtto ?? 0n), 0n),
  );

  const history = await ask(`${provider.url}/billing/usage-history?pageSize=1000`, { key: ADMIN_KEY });
  const ids = new Set(
    json<{ data: { inferenceDetails: { requestId: string } }[] }>(history).data.map(
      (row) => row.inferenceDetails.requestId,
    ),
  );
  const billed = chats.filter((record) => record.billedAtto !== 0n).map((record) => record.requestId);
  assert.deepEqual(
    billed.filter((id) => !ids.has(id ?? "")),
    [],
  );
  assert.equal(new Set(billed).size, billed.length);
});
