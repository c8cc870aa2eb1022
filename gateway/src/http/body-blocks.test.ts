import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { makeBodyBlocks } from "./body-blocks.ts";

const KIB = 1024;
const sizes = fc.array(fc.oneof(fc.nat(20), fc.nat(5_000), fc.nat(70 * KIB)), { maxLength: 60 });

test("what was appended is there in its order", () => {
  fc.assert(
    fc.property(sizes, (lengths) => {
      const parts = lengths.map((length, index) => Buffer.alloc(length, index));
      const blocks = makeBodyBlocks();
      for (const part of parts) blocks.append(part);
      assert.equal(Buffer.compare(Buffer.concat(blocks.end()), Buffer.concat(parts)), 0);
    }),
    { numRuns: runs(200) },
  );
});

test("single bytes take few blocks, and a part of half a block is not copied", () => {
  const blocks = makeBodyBlocks();
  for (let left = 300 * KIB; left > 0; left--) blocks.append(new Uint8Array(1));
  const large = new Uint8Array(32 * KIB);
  blocks.append(large);
  const all = blocks.end();
  assert.ok(all.length <= 13, `${all.length} blocks`);
  assert.equal(all.at(-1), large);
});
