import type { Change } from "../rows/tables.ts";
import type { Command } from "./commands.ts";
import type { Partition } from "./partition.ts";

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
  // The same delivery has the same id.
  draft.deliveries.push({ id: `${cause}>${target}`, target, command });
}

/** A delivery as a row of its sender's outbox. */
export function outboxChange({ id, target, command }: Delivery): Change {
  return { table: "outbox", id, row: { id, target, command: JSON.stringify(command) } };
}
