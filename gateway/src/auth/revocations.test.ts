import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { hear } from "@inference/ledger/testing/example";
import { KEY_ENDPOINT, makeWallet, openFixture, sign } from "../../test/identity-fixture.ts";
import { revokeAllAgain } from "./revocations.ts";

test("an account that is put back revives no secret or webhook that was revoked since, and keeps its others", async () => {
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
  const bearer = await fixture.signIn(wallet);
  const hooks = ["https://kept.example/", "https://removed.example/"];
  fixture.ledger.apply(partition, hear(1_000, { at: fixture.time.now }));
  for (const url of hooks) {
    const made = await fixture.call("POST", "/api/v1/webhooks", { bearer, body: { url, events: ["credit.added"] } });
    assert.equal(made.status, 201);
  }
  const webhooks = async () => (await fixture.ledger.read(partition, { type: "webhooks" })).webhooks;
  const urls = async () => (await webhooks()).map(({ url }) => url);
  const before = fixture.ledger.copy(partition);
  const removed = (await webhooks()).find(({ url }) => url === hooks[1]);
  assert.equal((await fixture.call("DELETE", `/api/v1/webhooks/${removed?.id}`, { bearer })).status, 200);
  assert.equal((await fixture.call("DELETE", `/api/v1/keys/${revoked.id}`, { bearer })).status, 200);
  const body = await sign(wallet, { resources: [`${KEY_ENDPOINT}/${rolled.id}/roll`] });
  assert.equal((await fixture.call("POST", `/api/v1/keys/${rolled.id}/roll`, { body })).status, 200);
  assert.deepEqual(await statuses(), [200, 401, 401]);

  fixture.ledger.putBack(partition, before);
  assert.deepEqual(await statuses(), [200, 200, 200]);
  assert.deepEqual(await urls(), hooks);
  for (let index = 0; index < 2_500; index++) {
    fixture.keyValue.set(`revoked:account:0x${String(index).padStart(40, "0")} x`, { value: "", expiresAt: undefined });
  }
  const { ledger, keyValue } = fixture.gateway.environment;
  await revokeAllAgain({ ledger, keyValue: { ...keyValue, list } }, fixture.time.now);
  assert.deepEqual(await statuses(), [200, 401, 401]);
  assert.deepEqual(await urls(), [hooks[0]]);

  async function list(prefix: string, limit: number, after = ""): Promise<string[]> {
    const names = await keyValue.list(prefix, Number.POSITIVE_INFINITY);
    return names.filter((name) => name > after).slice(0, limit);
  }
});

test("a key is revoked also while the key-value store takes nothing, which is an alert, and is kept once it is revoked again", async () => {
  const alerts: unknown[] = [];
  const fixture = openFixture(
    {},
    {
      log: (level, event, fields) => void (level === "alert" && alerts.push([event, fields])),
    },
  );
  const wallet = makeWallet();
  const { key, id } = await fixture.makeKey(wallet);
  const bearer = await fixture.signIn(wallet);
  const failing = () => {
    throw new Error("out of service");
  };
  const { set } = fixture.keyValue;
  fixture.keyValue.set = failing;
  assert.equal((await fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer })).status, 200);
  assert.equal((await fixture.call("GET", "/api/v1/key", { bearer: key })).status, 401);
  const fields = { partition: accountPartition(wallet.address), keyId: id, error: "Error: out of service" };
  assert.deepEqual(alerts, [["revocation_not_kept", fields]]);
  fixture.keyValue.set = set;
  assert.equal((await fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer })).status, 200);
  assert.deepEqual([await keptNames(), alerts.length], [1, 1]);

  async function keptNames(): Promise<number> {
    return (await fixture.gateway.environment.keyValue.list("revoked:", 9)).length;
  }
});
