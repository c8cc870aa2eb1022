import type { Command, Reply } from "./commands.ts";
import type { Partition } from "./partition.ts";
import type { Change } from "./tables.ts";

/**
 * A command for another partition, which is sent until it is acknowledged. It is safe to repeat. A host either applies
 * it in the commit of the command that caused it, or stores it in that commit, in the outbox.
 */
export type Delivery = { id: string; target: Partition; command: Command };

/** @param draft The draft of the command that caused it. */
export function deliver(
  draft: { readonly deliveries: Delivery[] },
  cause: string,
  target: Partition,
  command: Command,
): void {
  draft.deliveries.push({ id: deliveryId(cause, target), target, command });
}

/** The same delivery has the same id. */
export function deliveryId(cause: string, target: Partition): string {
  return `${cause}>${target}`;
}

/** A delivery as a row of its sender's outbox. */
export function outboxChange({ id, target, command }: Delivery): Change {
  return { table: "outbox", id, row: { id, target, command: JSON.stringify(command) } };
}

/** Whether a delivery with this reply is complete. What does not fit in now may fit in later, so it is sent again. */
export function isAcknowledged(reply: Reply): boolean {
  return !("status" in reply && reply.status === "too_much");
}
