import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ownValue } from "@inference/protocol/own-value";
import * as z from "zod";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";
import type { ChainPins } from "./options.ts";

/** The parts of a running devnet's `ready.json` that are used. */
const readyFile = z.looseObject({
  gatewayUrl: z.url(),
  apiKey: z.string(),
  chains: z.array(z.looseObject({ name: z.string(), chainId: z.int(), rpcUrl: z.url() })),
  contracts: z.record(z.string(), z.record(z.string(), z.string())),
  wallets: z.array(z.looseObject({ address: z.string(), privateKey: z.string(), activated: z.boolean() })),
});
export type ReadyFile = z.infer<typeof readyFile>;

export function readReadyFile(file: string): ReadyFile {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw new CommandError(`No devnet runs: ${file} cannot be read. Start one with \`npm start\`.`);
  }
  const ready = readyFile.safeParse(content);
  if (ready.success) return ready.data;
  throw new CommandError(`${file} is of another version: start the devnet again.`);
}

/** Searches `$DEVNET_DIR`, or the nearest `.devnet` in this folder and its parents. Throws `CommandError`. */
export function findReadyFile({ environment, workingFolder }: Context): string {
  const named = environment.DEVNET_DIR;
  if (named !== undefined && named !== "") return join(resolve(workingFolder, named), "ready.json");
  for (let folder = resolve(workingFolder); ; folder = dirname(folder)) {
    const file = join(folder, ".devnet", "ready.json");
    if (existsSync(file)) return file;
    if (folder === dirname(folder)) {
      throw new CommandError(`No devnet runs: there is no .devnet/ready.json. Start one with \`npm start\`.`);
    }
  }
}

/** Nodes and addresses of a devnet, from its file instead of its gateway. */
export function pinsOf({ chains, contracts }: ReadyFile): ChainPins {
  return Object.fromEntries(
    chains.map(({ name, chainId, rpcUrl }) => [
      String(chainId),
      { rpcUrl, contracts: ownValue(contracts, name) ?? {} },
    ]),
  );
}
