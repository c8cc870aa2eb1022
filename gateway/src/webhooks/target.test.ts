import assert from "node:assert/strict";
import { test } from "node:test";
import { parseWebhookUrl } from "./target.ts";

test("a webhook is an https URL with a public host name", () => {
  for (const url of ["https://a.example/", "https://hooks.a.example:8443/x?y=z", "https://xn--bcher-kva.example/"]) {
    assert.equal(parseWebhookUrl(url, "public"), url);
  }
  const refused = [
    ...["", "a.example", "http://a.example/", "ftp://a.example/", "https://user@a.example/", "https://:x@a.example/"],
    "https://a.example:22/",
    ...["https://localhost/", "https://x.localhost/", "https://x.local/", "https://x.internal./", "https://intranet/"],
    ...["https://127.0.0.1/", "https://8.8.8.8/", "https://2130706433/", "https://0x7f.1/", "https://[::1]/"],
  ];
  for (const url of refused) assert.throws(() => parseWebhookUrl(url, "public"), /`url` must/, url);
});

test("an operator's setting permits this machine, and no other address", () => {
  for (const url of ["http://localhost:3000/x", "http://127.0.0.1/", "https://[::1]/"]) {
    assert.equal(parseWebhookUrl(url, "local"), url);
  }
  for (const url of ["http://a.example/", "http://10.0.0.1/", "https://192.168.0.1/", "http://localhost.a.example/"]) {
    assert.throws(() => parseWebhookUrl(url, "local"), /`url` must/, url);
  }
});
