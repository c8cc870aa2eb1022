import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { KEY_ENDPOINT, makeWallet, openFixture, sign } from "../../test/identity-fixture.ts";
import { revokeAllAgain } from "./revocations.ts";

test("an account that is put back revives no secret that was revoked or replaced since, and keeps its other keys", async () => {
  const fixture = openFixture();
  const wallet = makeWallet();
  const partition = accountPartition(wallet.address);
  const [kept, revoked, rolled] = [
    await fixture.makeKey(wallet),
    await fixture.makeKey(wallet),
    await fixture.makeKey(wallet),
  ];
  const statuses = () =>
    Promise.all(
      [kept, revoked, rolled].map(
        async ({ key }) => (await fixture.call("GET", "/api/v1/key", { bearer: key })).status,
      ),
    );
  const before = fixture.ledger.copy(partition);
  const bearer = await fixture.signIn(wallet);
  assert.equal((await fixture.call("DELETE", `/api/v1/keys/${revoked.id}`, { bearer })).status, 200);
  const body = await sign(wallet, { resources: [`${KEY_ENDPOINT}/${rolled.id}/roll`] });
  assert.equal((await fixture.call("POST", `/api/v1/keys/${rolled.id}/roll`, { body })).status, 200);
  assert.deepEqual(await statuses(), [200, 401, 401]);

  fixture.ledger.putBack(partition, before);
  assert.deepEqual(await statuses(), [200, 200, 200]);
  await revokeAllAgain(fixture.gateway.environment, fixture.time.now);
  assert.deepEqual(await statuses(), [200, 401, 401]);
});

test("a key is revoked also while the key-value store takes nothing", async () => {
  const fixture = openFixture();
  const wallet = makeWallet();
  const { key, id } = await fixture.makeKey(wallet);
  const bearer = await fixture.signIn(wallet);
  fixture.keyValue.set = () => {
    throw new Error("out of service");
  };
  assert.equal((await fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer })).status, 200);
  assert.equal((await fixture.call("GET", "/api/v1/key", { bearer: key })).status, 401);
});
