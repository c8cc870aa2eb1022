import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./client-address.ts";

const cases: [address: string, network: string | undefined][] = [
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:50123", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::FFFF:cb00:7107", "203.0.113.7"],
  ["[::ffff:203.0.113.7]:50123", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:0DB8:0001:0002::1", "2001:db8:1:2"],
  ["[2001:db8::7]", "2001:db8:0:0"],
  ["[2001:db8:1:2::7]:443", "2001:db8:1:2"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["[fe80::1%25eth0]:443", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
  ["2001:db8:0:2::", "2001:db8:0:2"],
  ["", undefined],
  ["unknown", undefined],
  ["2001:db8:::1", undefined],
  ["[2001:db8::1]@elsewhere", undefined],
  ["::1]/[::2", undefined],
];

for (const [address, network] of cases) {
  test(`\`${address}\` is of ${network ?? "nowhere"}`, () => assert.equal(networkOf(address), network));
}
