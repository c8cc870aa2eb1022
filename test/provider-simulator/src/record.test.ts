import assert from "node:assert/strict";
import { test } from "node:test";
import { createRecordLog, type RequestRecord } from "./record.ts";

test("the oldest bodies are forgotten before they fill the memory, and their records stay", () => {
  const log = createRecordLog();
  const record = (body: string): RequestRecord => ({ body, headers: null }) as unknown as RequestRecord;
  const megabyte = "x".repeat(1024 * 1024);
  for (let i = 0; i < 80; i++) log.add(record(megabyte));
  log.add(record(`${megabyte}x`));
  assert.deepEqual(
    log.select(() => true, 100).map(({ body }) => body !== null),
    Array.from({ length: 81 }, (_, i) => i >= 16 && i < 80),
  );
});
