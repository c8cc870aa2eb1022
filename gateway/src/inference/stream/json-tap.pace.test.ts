import assert from "node:assert/strict";
import { test } from "node:test";
import { worstAnswers } from "../../../test/worst-answers.ts";
import { limits } from "../../config.ts";
import { endpoints } from "../../routes/all.ts";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { readJsonAnswer } from "./json-answer.ts";
import { createJsonTap, type JsonTapOptions } from "./json-tap.ts";

/** As much as a host reads at a time. */
const CHUNK = 64 * 1024;
const GATHERED = limits.parsedAnswerBytes;
const REPEATS = 5;
const MOST_MS = 10;

for (const { name, path, contentType, body } of worstAnswers(4)) {
  if (contentType !== "application/json") continue;
  test(`no step of reading ${name} takes ${MOST_MS} ms`, () => {
    const route = endpoints.find(({ paths }) => paths.includes(path))?.metered;
    assert.ok(route?.content);
    const options: JsonTapOptions = {
      shown: route.answerFields,
      content: route.content.field,
      elements: route.content.elements,
      secrets: makeSecretFilter(["upstream-key-0123456789", "another-key-of-the-provider-9876543210"]),
    };
    const bytes = Buffer.from([...body()].join(""));
    const steps: number[] = [];
    const slowest = () => Math.max(...steps);
    // A step may collect the garbage of others: the fastest of each counts.
    for (let repeat = 0; repeat < REPEATS && (repeat === 0 || slowest() >= MOST_MS); repeat++) {
      const tap = createJsonTap(options);
      // What was gathered is read in the step in which it becomes too large for that, with the chunk that came then.
      for (let at = 0, step = 0, size = GATHERED + CHUNK; at < bytes.length; at += size, size = CHUNK, step++) {
        const tookMs = processorMs(() => tap.push(bytes.subarray(at, at + size)));
        steps[step] = Math.min(steps[step] ?? Number.POSITIVE_INFINITY, tookMs);
      }
      assert.equal(tap.state(), "done");
      if (bytes.length > limits.parsedAnswerBytes) continue;
      const tookMs = processorMs(() => readJsonAnswer(bytes, options)?.text(1));
      steps[1] = Math.min(steps[1] ?? Number.POSITIVE_INFINITY, tookMs);
    }
    assert.ok(slowest() < MOST_MS, `${slowest()} ms`);
  });
}

/** The time of this thread alone: what else the machine does is not counted. */
function processorMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
