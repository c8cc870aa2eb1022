import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mock, test } from "node:test";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { openWebhooks, resolveByDns, type WebhookOptions } from "./webhooks.ts";

/** Resolves every name to these addresses. */
const resolvingTo =
  (...addresses: string[]) =>
  async () =>
    addresses;

async function resultOf(url: string, options: WebhookOptions): Promise<number | string> {
  const webhooks = openWebhooks(options);
  try {
    const signal = new AbortController().signal;
    return await webhooks.post({ url, headers: { "webhook-id": "one" }, body: "{}", signal });
  } catch (error) {
    return (error as Error).message;
  } finally {
    await webhooks.close();
  }
}

const notPublic = [
  ...["0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.8", "192.168.1.1"],
  ...["198.18.0.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::7f00:1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "fc00::1"],
  ...["fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1", "4000::1"],
];

test("a name that resolves to an address that is not public is refused, also beside a public one", async () => {
  for (const address of notPublic) {
    const resolve = resolvingTo("93.184.215.14", address);
    assert.equal(await resultOf("https://name.example/", { local: false, resolve }), "address_not_public", address);
  }
});

test("an address in a URL is checked too, in any way of writing it", async () => {
  const written = ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "[::ffff:7f00:1]"];
  for (const host of [...notPublic.map((address) => (address.includes(":") ? `[${address}]` : address)), ...written]) {
    assert.equal(await resultOf(`https://${host}/`, { local: false }), "address_not_public", host);
  }
});

test("the connection goes to the address that was checked, and only an operator's setting permits this machine", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers.host);
    response.writeHead(302, { location: "/again" }).end();
  });
  const { port, close } = await listenLocally(server);
  const url = `http://name.example:${port}/`;
  assert.equal(await resultOf(url, { local: false, resolve: resolvingTo("127.0.0.1") }), "address_not_public");
  assert.equal(await resultOf(url, { local: true, resolve: resolvingTo("10.0.0.1") }), "address_not_public");
  assert.equal(await resultOf(url, { local: true, resolve: resolvingTo("127.0.0.1") }), 302);
  assert.equal(await resultOf(`http://localhost:${port}/`, { local: true }), 302);
  assert.equal(await resultOf(url, { local: true, resolve: resolvingTo() }), "unreachable");
  assert.deepEqual(asked, [`name.example:${port}`, `localhost:${port}`], "one request each, and no redirect");
  await close();
});

test("a name server that says nothing about IPv6 holds up no IPv4 address, and a slow one about IPv4 is waited for", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const nothing = () => new Promise<string[]>(() => undefined);
  const found = resolveByDns("name.example", { resolve4: async () => ["192.0.2.1"], resolve6: nothing });
  await new Promise(setImmediate);
  mock.timers.tick(1_000);
  assert.deepEqual(await found, ["192.0.2.1"]);
  mock.timers.reset();
  const resolve6 = async () => ["2001:db8::1"];
  assert.deepEqual(await resolveByDns("name.example", { resolve4: async () => ["192.0.2.1"], resolve6 }), [
    ...["192.0.2.1", "2001:db8::1"],
  ]);
  const refused = () => Promise.reject(new Error("ENODATA"));
  assert.deepEqual(await resolveByDns("name.example", { resolve4: refused, resolve6 }), ["2001:db8::1"]);
});
