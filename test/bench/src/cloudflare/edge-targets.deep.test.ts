import assert from "node:assert/strict";
import { test } from "node:test";
import { httpBench } from "../http-bench.ts";
import { edgeTargets } from "./edge-targets.ts";

test("every Worker that is compared passes whole answers and whole streams on", async () => {
  const readings = await httpBench({
    targets: edgeTargets,
    scenarios: [
      { name: "buffered", connections: 4, answer: "buffered" },
      { name: "streaming", connections: 4, answer: "flood" },
    ],
    rounds: 1,
    warmupSeconds: 0,
    seconds: 0.3,
    say: () => undefined,
  });
  assert.equal(readings.length, 2 * edgeTargets.length);
  for (const { scenario, target, load } of readings) {
    const { allAnswers, errorKinds, unfinished } = load;
    assert.deepEqual([errorKinds, unfinished], [{}, 0], `${target}, ${scenario}`);
    assert.ok(allAnswers >= 4, `${target}, ${scenario}: ${allAnswers}`);
  }
});
