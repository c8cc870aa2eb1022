import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeRequestId } from "@inference/protocol/id";
import { openCharges } from "./charges.ts";
import { openDatabase } from "./database.ts";

const DAY = Date.UTC(2027, 5, 15);

test("the charges of a day are those of accounts' requests that were admitted on it, over any number of pages", () => {
  const folder = mkdtempSync(join(tmpdir(), "charges-"));
  const database = openDatabase(join(folder, "gateway.sqlite"));
  try {
    const insert = database.prepare(
      "INSERT INTO receipt_row (partition, id, admitted_at, resolved_at, outcome, charge_nano_usd, held_nano_usd," +
        " loss_nano_usd, detail) VALUES (?, ?, ?, 0, 'settled', ?, 0, 0, '')",
    );
    let count = 0;
    const put = (partition: string, at: number, charge: number) => {
      count += 1;
      const random = new Uint8Array(10);
      new DataView(random.buffer).setUint32(0, count);
      insert.run(partition, makeRequestId(at, random), at, charge);
    };
    database.exec("BEGIN");
    for (let number = 0; number < 25_000; number++) put(`account:${number % 7}`, DAY + number * 3_000, 1);
    put("account:a", DAY - 1, 1_000_000);
    put("account:a", DAY + 86_400_000, 1_000_000);
    put("account:a", DAY + 86_399_999, 7);
    put("identity:a", DAY + 1, 1_000_000);
    database.exec("COMMIT");
    const charged = openCharges(database, DAY);
    let pages = 1;
    while (charged.next()) pages += 1;
    assert.deepEqual([charged.sumNanoUsd(), pages], [25_007, 3]);
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
});
