import type { Commands, CommandType } from "../messages/commands.ts";
import type { Partition } from "../messages/partition.ts";
import type { Draft } from "../rows/draft.ts";
import type { ReadRows } from "../rows/tables.ts";

/** Where a command is applied. */
export type Place = {
  draft: Draft;
  /** The rows as they were before the command. */
  rows: ReadRows;
  partition: Partition;
  clockMs: number;
  /** The host's epoch: see `bill.ts`. */
  epoch: number;
};

/** The rule of a command. */
export type Rule<T extends CommandType> = (place: Place, command: Commands[T]["command"]) => Commands[T]["reply"];
