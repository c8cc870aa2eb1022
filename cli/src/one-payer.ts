import * as z from "zod";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";
import type { StateFolder } from "./state-folder.ts";

const schema = z.object({ pid: z.int() });

/**
 * Lets one process at a time pay with an account. Two that sign at once can make the same transaction, and both would
 * report a payment. Takes over from a dead process. Returns a function that ends the payment. Throws `CommandError`.
 */
export function beginPaying({ folder }: Pick<Context, "folder">, address: string): () => void {
  const name = `paying-${address.toLowerCase()}.json`;
  const other = payerOf(folder, name);
  if (other !== undefined) {
    if (isAlive(other)) refuse(folder, name, `(process ${other}) is paying`);
    removeDead(folder, name);
  }
  if (!folder.create(name, { pid: process.pid })) refuse(folder, name, "has just begun to pay");
  return () => folder.remove(name);
}

/** One process at a time looks again and removes: the file may already be that of another which took over. */
function removeDead(folder: StateFolder, name: string): void {
  const look = `looking-${name}`;
  if (!folder.create(look, { pid: process.pid })) refuse(folder, look, "is about to pay");
  try {
    const pid = payerOf(folder, name);
    if (pid !== undefined && !isAlive(pid)) folder.remove(name);
  } finally {
    folder.remove(look);
  }
}

function payerOf(folder: StateFolder, name: string): number | undefined {
  return schema.safeParse(folder.readJson(name)).data?.pid;
}

function refuse(folder: StateFolder, name: string, what: string): never {
  throw new CommandError(
    `Another \`infer\` ${what} with this account: try again when it has ended. ` +
      `If there is none, remove ${folder.path}/${name}.`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
