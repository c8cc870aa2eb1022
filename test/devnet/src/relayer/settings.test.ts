import { equal, throws } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { readSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "relayer-settings-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const address = `0x${"2".repeat(40)}`;
const url = "http://127.0.0.1:1";
const contracts = { endpoint: address, sendLibrary: address, receiveLibrary: address, verifiers: [address, address] };
const terms = { ...contracts, confirmations: 1, rpcUrls: { verifiers: [url, url], executor: url } };
const keys = {
  VERIFIER_KEY_1: `0x${"1".repeat(64)}`,
  VERIFIER_KEY_2: `0x${"2".repeat(64)}`,
  EXECUTOR_KEY: `0x${"3".repeat(64)}`,
};

test("a development key is refused on a chain that is not local, in whatever role", () => {
  const developer = mnemonicToAccount("test test test test test test test test test test test junk");
  const key = toHex(developer.getHdKey().privateKey ?? new Uint8Array());
  const roles = { VERIFIER_KEY_1: "verifier 1", VERIFIER_KEY_2: "verifier 2", EXECUTOR_KEY: "executor" };
  equal(readWith([31337, 8453], {}).chains.length, 2);
  for (const [name, role] of Object.entries(roles)) {
    equal(readWith([31337, 31338], { [name]: key }).chains.length, 2);
    const refusal = new RegExp(`^DevelopmentKeyError: ${developer.address} .* cannot be the ${role} on chain 8453\\.$`);
    throws(() => readWith([31337, 8453], { [name]: key }), refusal);
  }
});

function readWith(chainIds: readonly number[], changes: Readonly<Record<string, string>>) {
  const RELAYER_FILE = join(folder, "relayer.json");
  const chains = chainIds.map((chainId) => ({ ...terms, eid: chainId, chainId }));
  writeFileSync(RELAYER_FILE, JSON.stringify({ databaseFile: "x", chains }));
  return readSettings({ RELAYER_FILE, ...keys, ...changes });
}
