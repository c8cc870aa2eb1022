import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Ending } from "./control.ts";
import { DevnetError } from "./devnet-error.ts";
import type { ReadyFile } from "./ready.ts";

/** Has the devnet in `folder` run a command. Throws {@link DevnetError} if none is running there, or if it fails. */
export async function ask(
  folder: string,
  { command, args, say }: { command: string; args: readonly string[]; say(line: string): void },
): Promise<void> {
  const path = resolve(folder);
  const { url, token } = readReady(path).control;
  let body: ReadableStream<Uint8Array> | null;
  try {
    const init = { method: "POST", headers: { authorization: `Bearer ${token}` } };
    ({ body } = await fetch(url, { ...init, body: JSON.stringify({ command, args }) }));
  } catch {
    throw notRunning(path);
  }
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of body ?? []) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const line = JSON.parse(text) as string | Ending;
      if (typeof line === "string") say(line);
      else if ("error" in line) throw new DevnetError(line.error);
      else return;
    }
  }
  throw new DevnetError(`The devnet in ${path} ended before the command did.`);
}

function readReady(path: string): ReadyFile {
  try {
    return JSON.parse(readFileSync(join(path, "ready.json"), "utf8")) as ReadyFile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw notRunning(path);
    throw error;
  }
}

function notRunning(path: string): DevnetError {
  return new DevnetError(
    `No devnet is running in ${path}: start one with npm start, or set DEVNET_DIR to the folder of the one that runs.`,
  );
}
