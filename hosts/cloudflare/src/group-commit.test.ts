import assert from "node:assert/strict";
import { test } from "node:test";
import { makeGroupCommit } from "./group-commit.ts";

/** A disk that is ready when the test says so. */
function makeDisk() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const writes: string[][] = [];
  let gathered: string[] = [];
  let isFull = false;
  const commits = makeGroupCommit({
    write() {
      const written = gathered;
      gathered = [];
      if (isFull) throw new Error("disk full");
      writes.push(written);
      return undefined;
    },
    sync() {
      const sync = Promise.withResolvers<void>();
      syncs.push(sync);
      return sync.promise;
    },
  });
  return {
    commits,
    writes,
    syncs,
    put(name: string) {
      gathered.push(name);
      return commits.join();
    },
    fill() {
      isFull = true;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("the first is written at once, and those that come while the disk is busy together when it is ready", async () => {
  const { put, writes, syncs } = makeDisk();
  const first = put("a");
  assert.deepEqual(writes, [["a"]]);
  await first;
  const others = ["b", "c", "d"].map((name) => put(name));
  await turn();
  assert.deepEqual(writes, [["a"]]);
  syncs[0]?.resolve();
  await Promise.all(others);
  assert.deepEqual(writes, [["a"], ["b", "c", "d"]]);
  syncs[1]?.resolve();
  await turn();
  assert.equal(syncs.length, 2, "nothing is left to write");
});

test("a read waits for the commit that has gathered, and for no other", async () => {
  const { commits, put, syncs } = makeDisk();
  await commits.settled();
  await put("a");
  await commits.settled();
  let isSettled = false;
  const second = put("b");
  const reading = commits.settled().then(() => {
    isSettled = true;
  });
  await turn();
  assert.equal(isSettled, false);
  syncs[0]?.resolve();
  await Promise.all([second, reading]);
});

test("a commit that fails fails for every command in it, and for no other", async () => {
  const { commits, put, writes, syncs, fill } = makeDisk();
  await put("a");
  const group = [put("b"), put("c"), commits.settled()];
  fill();
  syncs[0]?.reject(new Error("broken"));
  for (const outcome of await Promise.allSettled(group)) assert.equal(outcome.status, "rejected");
  await commits.settled();
  assert.deepEqual(writes, [["a"]]);
});

test("a flush writes what has gathered without waiting for the disk", async () => {
  const { commits, put, writes } = makeDisk();
  await put("a");
  const second = put("b");
  commits.flush();
  assert.deepEqual(writes, [["a"], ["b"]]);
  await second;
  commits.flush();
  assert.equal(writes.length, 2);
});
