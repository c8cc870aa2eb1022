import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { dayOf } from "./day.ts";

const amounts = { limit: 0, sold: 0, held: 0, left: 0, own_use: 0, capacity: null, capacity_nano_usd: null };
const today = {
  ...{ ...amounts, date: "2026-11-28", resets_at: "2026-11-29T00:00:00.000Z" },
  ...{ limit_nano_usd: 12, sold_nano_usd: 5, held_nano_usd: 1, left_nano_usd: 6, own_use_nano_usd: 4 },
};

test("the parts of a day add up to its capacity, also while chain and gateway speak of other moments", () => {
  deepEqual(dayOf({ capacityTodayNanoUsd: 24n }, { today }), {
    ...{ capacity: 24n, sold: 5n, held: 1n, ownUse: 4n, left: 6n, kept: 8n },
  });
  for (const capacityTodayNanoUsd of [0n, 9n, 10n, 12n, 16n, 17n]) {
    const { capacity, sold, held, ownUse, left, kept } = dayOf({ capacityTodayNanoUsd }, { today });
    equal(sold + held + ownUse + left + kept, capacity, String(capacityTodayNanoUsd));
    equal(left < 0n || kept < 0n, false);
  }
});
