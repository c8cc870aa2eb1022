import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeQueue } from "./queue.ts";

test("a queue is an array that is only pushed and shifted", () => {
  const steps = fc.array(fc.oneof(fc.nat(), fc.constantFrom("shift", "clear")), { maxLength: 50 });
  fc.assert(
    fc.property(steps, (taken) => {
      const queue = makeQueue<number>();
      const array: number[] = [];
      for (const step of taken) {
        if (typeof step === "number") {
          queue.push(step);
          array.push(step);
        } else if (step === "shift") assert.equal(queue.shift(), array.shift());
        else {
          queue.clear();
          array.length = 0;
        }
        assert.deepEqual([queue.length, queue.first()], [array.length, array[0]]);
      }
    }),
    { seed: 1 },
  );
});
