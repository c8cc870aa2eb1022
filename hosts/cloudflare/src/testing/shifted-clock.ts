import assert from "node:assert/strict";
import type { HoldRow } from "@inference/ledger/tables";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Edge } from "./edge.ts";

/** The clock of `shifted-worker.ts`, from outside. */
export type ShiftedClock = {
  now(): number;
  goTo(at: number): Promise<void>;
  /** Past every lease, and past the wait for the provider's records, with the alarms of these objects rung. */
  endHolds(partitions: readonly string[]): Promise<void>;
};

const LEASE_MS = 15 * 60_000;
const GRACE_MS = 30_000;

export function shiftedClock(edge: Edge): ShiftedClock {
  let aheadMs = 0;
  const now = (): number => Date.now() + aheadMs;

  async function goTo(at: number): Promise<void> {
    aheadMs = at - Date.now();
    await fetch(`${edge.url}/__ahead?ms=${aheadMs}`);
  }

  /** Rings until no hold is in one of these states. */
  async function ringUntilNone(partitions: readonly string[], states: readonly string[]): Promise<void> {
    await eventually(async () => {
      await Promise.all(partitions.map((partition) => edge.call(partition, "ring")));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const holds = await Promise.all(partitions.map((partition) => openHolds(edge, partition)));
      const left = holds.flat().filter(({ state }) => states.includes(state));
      assert.deepEqual(left, []);
    }, 30_000);
  }

  return {
    now,
    goTo,
    async endHolds(partitions) {
      await goTo(now() + LEASE_MS + 1_000);
      await ringUntilNone(
        partitions.filter((partition) => partition !== "ceiling"),
        ["open"],
      );
      await goTo(now() + GRACE_MS + 1_000);
      await ringUntilNone(partitions, ["open", "orphaned"]);
    },
  };
}

export async function openHolds(edge: Edge, partition: string): Promise<HoldRow[]> {
  const holds = (await edge.call(partition, "rows", partition, "hold")) as HoldRow[];
  return holds.filter(({ state }) => state === "open" || state === "orphaned");
}
