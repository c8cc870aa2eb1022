import { RefusedError } from "@inference/sdk";
import * as z from "zod";
import type { Context } from "./context.ts";

/** A key's secret is told once. This file exists from before the request until the secret is printed. */
const FILE = "unseen-key.json";

const schema = z.strictObject({ command: z.string(), at: z.iso.datetime() });

/** Asks for a secret. After an interruption the next command about keys explains the remedy. */
export async function askForSecret<T>(context: Context, command: string, ask: () => Promise<T>): Promise<T> {
  tellUnseen(context);
  const { folder, afterOutput } = context;
  try {
    folder.writeJson(FILE, { command, at: new Date().toISOString() });
  } catch {
    // The file is only a note for the person.
  }
  afterOutput.push(() => folder.remove(FILE));
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RefusedError) folder.remove(FILE);
    throw error;
  }
}

/** Tells once about an interrupted command. */
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
