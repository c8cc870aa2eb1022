import type { NanoUsd } from "@inference/protocol/money";

/** The digits of the largest amount. */
const DIGITS = 16;

/** A position on the line of what an account ever owed, as an id: in the order of the positions. */
export function positionId(positionNanoUsd: NanoUsd): string {
  return String(positionNanoUsd).padStart(DIGITS, "0");
}

export function positionOf(id: string): NanoUsd {
  return Number(id);
}
