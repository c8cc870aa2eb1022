import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as Keystore from "ox/Keystore";
import { privateKeyToAddress } from "viem/accounts";
import { readComputerSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "computer-"));
after(() => rmSync(folder, { recursive: true }));
const key = `0x${"a5".repeat(32)}` as const;
const agentToken = "0x00000000000000000000000000000000000000a1";
const own = { GATEWAY_URL: "http://127.0.0.1:8787/", AGENT_TOKEN: agentToken };

function keystoreFile(password: string): string {
  const [derived, options] = Keystore.scrypt({ password, n: 1_024 });
  const file = join(folder, "keystore.json");
  writeFileSync(file, JSON.stringify(Keystore.encrypt(key, derived, options)));
  return file;
}

test("a key comes from the environment, and the rest has defaults", async () => {
  const { account, ...settings } = await readComputerSettings({ ...own, COMPUTER_KEY: key });
  equal(account.address, privateKeyToAddress(key));
  const keyFile = join(folder, "computer.key");
  writeFileSync(keyFile, `${key}\n`);
  const fromFile = await readComputerSettings({ ...own, COMPUTER_KEY_FILE: keyFile, SHARE_PERCENT: "12.5" });
  deepEqual([fromFile.account.address, fromFile.shareBps], [account.address, 1_250]);
  const expected = { gatewayUrl: own.GATEWAY_URL, shareBps: 10_000, pollMs: 5_000 };
  deepEqual({ ...settings, agentToken }, { ...expected, agentToken });
});

test("a key comes from a Foundry keystore, with a password or a file that has it", async () => {
  const file = keystoreFile("open sesame");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, "open sesame\n");
  for (const password of [{ COMPUTER_PASSWORD: "open sesame" }, { COMPUTER_PASSWORD_FILE: passwordFile }]) {
    const { account } = await readComputerSettings({ ...own, COMPUTER_KEYSTORE: file, ...password });
    equal(account.address, privateKeyToAddress(key));
  }
});

test("all problems are reported at once, without key or password", async () => {
  const file = keystoreFile("open sesame");
  const overCurve = `0x${"ff".repeat(32)}`;
  for (const [settings, says] of [
    [
      {},
      /^GATEWAY_URL must name .* AGENT_TOKEN must be .* Set COMPUTER_KEY_FILE .* or COMPUTER_KEY, one of the three\.$/,
    ],
    [{ ...own, COMPUTER_KEY: key, COMPUTER_KEYSTORE: file }, /one of the three/],
    [{ ...own, COMPUTER_KEY_FILE: file }, /^COMPUTER_KEY_FILE: .*keystore\.json must be a private key/],
    [
      { ...own, COMPUTER_KEY: key, SHARE_PERCENT: "100.01" },
      /^SHARE_PERCENT must be a percentage from 0\.01 to 100, not 100\.01\.$/,
    ],
    [{ ...own, COMPUTER_KEY: key, GATEWAY_URL: "gateway" }, /^GATEWAY_URL must be an http\(s\) URL/],
    [{ ...own, COMPUTER_KEY: key.slice(0, -1) }, /^COMPUTER_KEY must be a private key/],
    [{ ...own, COMPUTER_KEY: overCurve }, /^COMPUTER_KEY must be a private key/],
    [{ ...own, COMPUTER_KEYSTORE: file }, /needs COMPUTER_PASSWORD_FILE or COMPUTER_PASSWORD/],
    [{ ...own, COMPUTER_KEYSTORE: file, COMPUTER_PASSWORD: "wrong" }, /does not open with the password/],
    [{ ...own, COMPUTER_KEYSTORE: join(folder, "none"), COMPUTER_PASSWORD: "x" }, /none cannot be read/],
  ] as const) {
    await rejects(readComputerSettings(settings), ({ message }: Error) => {
      match(message, says);
      ok(![key.slice(2, -1), overCurve.slice(2), "wrong"].some((secret) => message.includes(secret)), message);
      return true;
    });
  }
});
