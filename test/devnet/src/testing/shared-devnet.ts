import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { ask } from "../ask.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import type { ReadyFile } from "../ready.ts";
import { anyPorts, deployedFolder, type TemporaryFolder, temporaryFolder } from "./launch.ts";

/** A devnet as one test file has it: its wallets, but for the first, belong to no other file. */
export type DevnetShare = {
  readonly ready: ReadyFile;
  /** Has the `ready.json` of this share. */
  readonly folder: string;
};

let started: Promise<Devnet> | undefined;
const folders: TemporaryFolder[] = [];

after(async () => {
  await (await started)?.stop();
  for (const folder of folders) folder.remove();
});

/** The one devnet of all test files in this process. Stopped after the last test. */
export function sharedDevnet(): Promise<Devnet> {
  started ??= start();
  return started;
}

/** The shared devnet with wallets of one's own, each with gas and dollars on every chain. */
export async function shareDevnet(): Promise<DevnetShare> {
  const { ready } = await sharedDevnet();
  const folder = temporaryFolder();
  folders.push(folder);
  const [activated, ...others] = ready.wallets;
  if (activated === undefined) throw new Error("The devnet has no wallet.");
  const own = others.map(() => {
    const privateKey = generatePrivateKey();
    return { address: privateKeyToAddress(privateKey), privateKey, activated: false };
  });
  const share = { ...ready, wallets: [activated, ...own] };
  writeFileSync(join(folder.path, "ready.json"), JSON.stringify(share));
  for (const { address } of own) await ask(folder.path, { command: "faucet", args: [address], say: () => {} });
  return { ready: share, folder: folder.path };
}

function start(): Promise<Devnet> {
  const folder = deployedFolder();
  folders.push(folder);
  const settings = { DEVNET_DIR: folder.path, SETTLER_INTERVAL_MS: "3000" };
  return startDevnet({ environment: { ...process.env, ...anyPorts, ...settings }, survivesKill: false });
}
