import assert from "node:assert/strict";
import { isHold, type ReceiptRow } from "@inference/ledger/tables";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Edge } from "./edge.ts";

const LEASE_MS = 15 * 60_000;
const GRACE_MS = 30_000;

/** Past every lease, and past the wait for the provider's records, with the alarms of these objects rung. */
export async function endHolds(edge: Edge, partitions: readonly string[]): Promise<void> {
  /** Rings until no hold is in one of these states. */
  async function ringUntilNone(rung: readonly string[], states: readonly string[]): Promise<void> {
    await eventually(async () => {
      await Promise.all(rung.map((partition) => edge.object(partition, "ring")));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const holds = await Promise.all(rung.map((partition) => openHolds(edge, partition)));
      assert.deepEqual(
        holds.flat().filter(({ state }) => states.includes(state)),
        [],
      );
    });
  }
  await edge.goTo(edge.now() + LEASE_MS + 1_000);
  await ringUntilNone(partitions, ["open"]);
  await edge.goTo(edge.now() + GRACE_MS + 1_000);
  await ringUntilNone(partitions, ["open", "orphaned"]);
}

export async function openHolds(edge: Edge, partition: string): Promise<ReceiptRow[]> {
  return (await edge.rows("receipt", partition)).filter(isHold);
}
