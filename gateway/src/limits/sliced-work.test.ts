import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { complete, makeSlicedWork, type SlicedWork } from "./sliced-work.ts";

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

/** Writes down each piece that is run. */
function* pieces(name: string, count: number, ran: string[]): Generator<void, string> {
  for (let left = count; left > 0; left--) {
    ran.push(name);
    if (left > 1) yield;
  }
  return `${name} is done`;
}

test("work is run to its end, and answers with what it returns or throws", async () => {
  const { run } = makeSlicedWork(timers);
  assert.equal(await run("a", pieces("a", 5, [])), "a is done");
  // biome-ignore lint/correctness/useYield: work of one piece.
  function* fails(): Generator<void, string> {
    throw new Error("wrong");
  }
  await assert.rejects(run("a", fails()), /wrong/);
  assert.equal(await run("a", pieces("b", 1, [])), "b is done");
  assert.equal(complete(pieces("c", 5, [])), "c is done");
});

test("where the clock stands still, one piece is run in a turn of the event loop, however many wait", async () => {
  const { run } = makeSlicedWork(timers);
  const ran: string[] = [];
  const running = Promise.all(Array.from({ length: 20 }, (_, index) => run(`owner ${index}`, pieces("x", 5, ran))));
  let over = false;
  void running.then(() => {
    over = true;
  });
  while (!over) {
    const before = ran.length;
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.ok(ran.length - before <= 1, `${ran.length - before} pieces in a turn`);
  }
  assert.equal(ran.length, 100);
});

describe("where the clock advances", () => {
  const PIECE_MS = 0.4;

  /** How many pieces ran in each turn of the event loop, of 20 owners that are served at once. */
  async function piecesOfTurns(serve: (work: SlicedWork, owner: string, ran: string[]) => Promise<unknown>) {
    const ran: string[] = [];
    const slicedWork = makeSlicedWork({ ...immediate, monotonicMs: () => ran.length * PIECE_MS });
    const all = Promise.all(Array.from("abcdefghijklmnopqrst", (owner) => serve(slicedWork, owner, ran)));
    const counts: number[] = [];
    let over = false;
    void all.then(() => {
      over = true;
    });
    while (!over) {
      const before = ran.length;
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (ran.length > before) counts.push(ran.length - before);
    }
    return { counts, ran };
  }

  test("pieces run for a millisecond in a turn, and the last one to its end", async () => {
    const { counts, ran } = await piecesOfTurns((work, owner, ran) => work.run(owner, pieces(owner, 3, ran)));
    assert.equal(ran.length, 60);
    assert.deepEqual(new Set(counts), new Set([3]));
    assertTurns(ran);
  });

  test("work that follows a turn is the last of it", async () => {
    const { counts } = await piecesOfTurns(async (work, owner, ran) => {
      await work.turn(owner);
      ran.push(owner);
    });
    assert.deepEqual(counts, Array(20).fill(1));
  });
});

test("after the pieces of a turn no more run for a while, and then of another owner", async () => {
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
  const slicedWork = makeSlicedWork(clock, { everyMs: 5 });
  const begun: string[] = [];
  const serve = async (owner: string) => {
    await slicedWork.turn(owner);
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
  const jobs = fc.array(fc.record({ owner: fc.constantFrom("a", "b", "c"), count: fc.integer({ min: 1, max: 6 }) }), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(jobs, async (given) => {
      const { run } = makeSlicedWork(timers);
      const ran: string[] = [];
      const ended: string[] = [];
      await Promise.all(
        given.map(async ({ owner, count }, index) => {
          await run(owner, pieces(`${owner}${index}`, count, ran));
          ended.push(`${owner}${index}`);
        }),
      );
      for (const owner of ["a", "b", "c"]) {
        const own = given.flatMap((job, index) => (job.owner === owner ? [`${owner}${index}`] : []));
        const expected = own.flatMap((name) => Array(given[Number(name.slice(1))]?.count).fill(name));
        assert.deepEqual(
          ran.filter((name) => name.startsWith(owner)),
          expected,
        );
        assert.deepEqual(
          ended.filter((name) => name.startsWith(owner)),
          own,
        );
      }
      assertTurns(ran);
    }),
    { numRuns: 30 },
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
  let ended = false;
  const mortal = {
    after: (ms: number, callback: () => void) => (ended ? { cancel: () => undefined } : timers.after(ms, callback)),
  };
  const ran: string[] = [];
  let kept = timers;
  const { run } = makeSlicedWork({ after: (ms, callback) => kept.after(ms, callback) });
  kept = mortal;
  void run("dead", pieces("dead", 50, ran));
  await new Promise((resolve) => setTimeout(resolve, 10));
  ended = true;
  await new Promise((resolve) => setTimeout(resolve, 10));
  const before = ran.length;
  assert.ok(before > 0 && before < 50);
  kept = timers;
  await run("alive", pieces("alive", 60, ran));
  assert.equal(ran.filter((name) => name === "dead").length, 50);
});
