import * as z from "zod";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";

const schema = z.object({ pid: z.int() });

/**
 * Lets one process at a time pay with an account. Two that sign at once can make the same transaction, and both would
 * report a payment. Takes over from a dead process. Returns a function that ends the payment. Throws `CommandError`.
 */
export function beginPaying({ folder }: Pick<Context, "folder">, address: string): () => void {
  const name = `paying-${address.toLowerCase()}.json`;
  const other = schema.safeParse(folder.readJson(name)).data?.pid;
  if (other !== undefined && isAlive(other)) {
    throw new CommandError(
      `Another \`infer\` (process ${other}) is paying with this account: try again when it has ended. ` +
        `If there is none, remove ${folder.path}/${name}.`,
    );
  }
  if (other !== undefined) folder.remove(name);
  if (!folder.create(name, { pid: process.pid })) {
    throw new CommandError("Another `infer` has just begun to pay with this account: try again when it has ended.");
  }
  return () => folder.remove(name);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
