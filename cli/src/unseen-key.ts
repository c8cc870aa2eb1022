import { RefusedError } from "@inference/sdk";
import * as z from "zod";
import type { Context } from "./context.ts";

/** A key's secret is told once. This file is there from before a command asks for one until it has printed it. */
const FILE = "unseen-key.json";

const schema = z.strictObject({ command: z.string(), at: z.iso.datetime() });

/** Asks for a secret. If it is interrupted, the next command about keys says what became of it. */
export async function askForSecret<T>(context: Context, command: string, ask: () => Promise<T>): Promise<T> {
  tellUnseen(context);
  const { folder, afterOutput } = context;
  try {
    folder.writeJson(FILE, { command, at: new Date().toISOString() });
  } catch {
    // It is for the person only: no money hangs on it.
  }
  afterOutput.push(() => folder.remove(FILE));
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RefusedError) folder.remove(FILE);
    throw error;
  }
}

/** Says once what an interrupted command has left. */
export function tellUnseen({ folder, say }: Context): void {
  const unseen = schema.safeParse(folder.readJson(FILE));
  if (!unseen.success) return;
  const { command, at } = unseen.data;
  say(
    `\`infer ${command}\` was interrupted at ${at}: if the gateway made a secret for it, nobody has that. ` +
      "`infer keys list` shows the key; `infer keys roll ID` makes another secret, `infer keys revoke ID` ends it.",
  );
  folder.remove(FILE);
}
