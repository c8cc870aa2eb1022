import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseSettings, SettingsError } from "@inference/gateway/settings";
import * as Keystore from "ox/Keystore";
import { gatewayEnvironment } from "./chaos/processes.ts";
import { nodeSettings } from "./settings.ts";
import { withSettlerKey } from "./settler-key.ts";

const folder = mkdtempSync(join(tmpdir(), "settler-key-"));
after(() => rmSync(folder, { recursive: true }));
const key = `0x${"a5".repeat(32)}` as const;
const password = "open sesame";
const file = join(folder, "keystore");
const [derived, options] = Keystore.scrypt({ password, n: 1_024 });
writeFileSync(file, JSON.stringify(Keystore.encrypt(key, derived, options)));
const passwordFile = join(folder, "password");
writeFileSync(passwordFile, `${password}\n`);

const keyOf = async (env: Record<string, string>): Promise<string | undefined> => {
  const provider = { url: "http://127.0.0.1:9" };
  const right = gatewayEnvironment({ databaseFile: "none", secret: "5e".repeat(32), provider });
  return (await withSettlerKey(parseSettings(nodeSettings, { ...right, ...env }))).SETTLER_PRIVATE_KEY;
};

test("the settler's key comes from the settings, from a keystore, or there is none", async () => {
  assert.equal(await keyOf({}), undefined);
  assert.equal(await keyOf({ SETTLER_PRIVATE_KEY: key }), key);
  assert.equal(await keyOf({ SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD: password }), key);
  assert.equal(await keyOf({ SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD_FILE: passwordFile }), key);
});

test("a keystore that cannot be used is an error that says what to do and repeats no secret", async () => {
  const none = join(folder, "none");
  for (const [env, because] of [
    [{ SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD: password, SETTLER_PRIVATE_KEY: key }, /Set one of the two$/],
    [{ SETTLER_KEYSTORE: file }, /set SETTLER_KEYSTORE_PASSWORD_FILE or SETTLER_KEYSTORE_PASSWORD, one of the two$/],
    [
      { SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD: password, SETTLER_KEYSTORE_PASSWORD_FILE: passwordFile },
      /one of the two$/,
    ],
    [{ SETTLER_KEYSTORE_PASSWORD: password }, /SETTLER_KEYSTORE: is missing/],
    [{ SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD: "wrong word" }, /keystore does not open with the password/],
    [{ SETTLER_KEYSTORE: passwordFile, SETTLER_KEYSTORE_PASSWORD: password }, /or is not a keystore$/],
    [{ SETTLER_KEYSTORE: none, SETTLER_KEYSTORE_PASSWORD: password }, /_KEYSTORE: .*none cannot be read \(ENOENT/],
    [{ SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD_FILE: none }, /_FILE: .*none cannot be read \(ENOENT/],
  ] as const) {
    await assert.rejects(keyOf(env), (error: Error) => {
      assert.ok(error instanceof SettingsError);
      assert.match(error.message, because);
      for (const secret of [key.slice(2), password, "wrong word"]) assert.ok(!error.message.includes(secret));
      return true;
    });
  }
});
