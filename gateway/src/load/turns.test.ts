import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { makeTurns, type Turns } from "./turns.ts";

const timers = {
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

const immediate = {
  after(_ms: number, callback: () => void) {
    const next = setImmediate(callback);
    return { cancel: () => clearImmediate(next) };
  },
};

test("work is run, and answers with what it returns or throws", async () => {
  const { run } = makeTurns(timers);
  assert.equal(await run("a", () => "done"), "done");
  const fails = (): never => {
    throw new Error("wrong");
  };
  await assert.rejects(run("a", fails), /wrong/);
  assert.equal(await run("a", () => "again"), "again");
});

test("where the clock stands still, one call is made in a turn of the event loop, however many wait", async () => {
  const { run } = makeTurns(timers);
  const ran: string[] = [];
  const counts = await callsOfTurns(
    ran,
    Array.from({ length: 40 }, (_, index) => run(`${index % 20}`, () => ran.push("x"))),
  );
  assert.deepEqual(counts, Array(40).fill(1));
});

/** How many calls were made in each turn of the event loop in which there was one. */
async function callsOfTurns(ran: readonly string[], running: Promise<unknown>[]): Promise<number[]> {
  const counts: number[] = [];
  let over = false;
  void Promise.all(running).then(() => {
    over = true;
  });
  while (!over) {
    const before = ran.length;
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (ran.length > before) counts.push(ran.length - before);
  }
  return counts;
}

describe("where the clock advances", () => {
  const CALL_MS = 0.4;

  /** The calls of each turn, of 20 owners that are served at once. */
  function callsOf(ran: string[], serve: (turns: Turns, owner: string) => Promise<unknown>): Promise<number[]> {
    const turns = makeTurns({ ...immediate, monotonicMs: () => ran.length * CALL_MS });
    return callsOfTurns(
      ran,
      Array.from("abcdefghijklmnopqrst", (owner) => serve(turns, owner)),
    );
  }

  test("calls are made for a millisecond in a turn, and the last one to its end", async () => {
    const ran: string[] = [];
    const calls = (turns: Turns, owner: string) =>
      Promise.all([1, 2, 3].map(() => turns.run(owner, () => ran.push(owner))));
    const counts = await callsOf(ran, calls);
    assert.deepEqual(counts, Array(20).fill(3));
    assertTurns(ran);
  });

  test("work that follows a turn is the last of it", async () => {
    const ran: string[] = [];
    const counts = await callsOf(ran, (turns, owner) => turns.wait(owner).then(() => ran.push(owner)));
    assert.deepEqual(counts, Array(20).fill(1));
  });
});

test("after the work of a turn there is none for a while, and then another owner's", async () => {
  let nowMs = 0;
  const waited: number[] = [];
  const clock = {
    after(ms: number, callback: () => void) {
      waited.push(ms);
      nowMs += ms;
      return immediate.after(ms, callback);
    },
    monotonicMs: () => nowMs,
  };
  const turns = makeTurns(clock, { everyMs: 5 });
  const begun: string[] = [];
  const serve = async (owner: string) => {
    await turns.wait(owner);
    begun.push(owner);
    nowMs += 2;
  };
  await Promise.all(["a", "a", "b"].map(serve));
  assert.deepEqual(
    [begun, waited],
    [
      ["a", "b", "a"],
      [0, 5, 5],
    ],
  );
  await serve("c");
  assert.deepEqual(waited.at(-1), 3);
});

test("owners take turns, and one owner's work is done in its order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 12 }), async (owners) => {
      const { run } = makeTurns(timers);
      const ran: string[] = [];
      await Promise.all(owners.map((owner, index) => run(owner, () => ran.push(`${owner}${index}`))));
      for (const owner of ["a", "b", "c"]) {
        assert.deepEqual(
          ran.filter((name) => name.startsWith(owner)),
          owners.flatMap((each, index) => (each === owner ? [`${owner}${index}`] : [])),
        );
      }
      assertTurns(ran);
    }),
    { numRuns: runs(30) },
  );
});

/** While somebody has work left, nobody else is served twice before them. */
function assertTurns(ran: readonly string[]): void {
  const owners = ran.map((name) => name.slice(0, 1));
  for (const [index, owner] of owners.entries()) {
    const before = owners.lastIndexOf(owner, index - 1);
    if (index === 0 || before < 0) continue;
    for (const other of new Set(owners)) {
      if (other === owner) continue;
      const hasMore = owners.indexOf(other, before + 1) >= 0;
      assert.ok(!hasMore || owners.slice(before + 1, index).includes(other), ran.join(" "));
    }
  }
}

test("what one request's timer leaves undone when the request ends, another's goes on with", async () => {
  let kept: Pick<typeof timers, "after"> = { after: () => ({ cancel: () => undefined }) };
  const ran: string[] = [];
  const { run } = makeTurns({ after: (ms, callback) => kept.after(ms, callback) });
  // Its request has ended: the timer never calls back.
  void run("dead", () => ran.push("dead"));
  kept = timers;
  await run("alive", () => ran.push("alive"));
  assert.deepEqual(ran, ["dead", "alive"]);
});

test("a request that waits for its turn goes on as itself", async () => {
  const request = new AsyncLocalStorage<number>();
  const { wait } = makeTurns(timers);
  const seen = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      request.run(index, async () => {
        await wait(`owner ${index % 3}`);
        return request.getStore();
      }),
    ),
  );
  assert.deepEqual(
    seen,
    Array.from({ length: 10 }, (_, index) => index),
  );
});
