import assert from "node:assert/strict";
import { test } from "node:test";
import { endpoints } from "@inference/gateway/routes/all";
import { errorTable } from "@inference/protocol/errors";
import { read } from "./testing/kit.ts";

type CloudflareRule = {
  expression: string;
  action: string;
  action_parameters?: { response?: { status_code: number; content: string } };
  ratelimit?: { period: number; requests_per_period: number; characteristics: string[] };
};
const phases = JSON.parse(read("cloudflare/rules.json")) as Record<string, { rules: CloudflareRule[] }>;
const rules = Object.values(phases).flatMap((phase) => phase.rules);
const quoted = (text = "") => [...text.matchAll(/"([^"]+)"/g)].map(([, value = ""]) => value);

test("Cloudflare's rules are of one host, and name paths and methods of this gateway", () => {
  for (const { expression } of rules) assert.match(expression, /^\(http\.host eq "gateway\.example".*\)$/);
  const paths = rules.flatMap(({ expression }) => quoted(/path in \{([^}]*)\}/.exec(expression)?.[1]));
  const posted = endpoints.filter(({ method }) => method === "POST").flatMap((endpoint) => endpoint.paths);
  assert.ok(paths.length >= 2);
  for (const path of paths) assert.ok(posted.includes(path), path);
  const methods = quoted(rules.map(({ expression }) => /method in \{([^}]*)\}/.exec(expression)?.[1]).join(""));
  const served = new Set(["HEAD", "OPTIONS", ...endpoints.map(({ method }) => method)]);
  for (const method of served) assert.ok(methods.includes(method), `${method} would be blocked`);
});

test("an address that a rule stops gets the gateway's own error", () => {
  const limited = rules.filter(({ ratelimit }) => ratelimit !== undefined);
  assert.equal(limited.length, 2);
  for (const { action_parameters, ratelimit } of limited) {
    const { status_code, content } = action_parameters?.response ?? assert.fail("no answer is given");
    const { error } = JSON.parse(content) as { error: { message: string; type: string; code: string; param: null } };
    const { status, type } = errorTable.rate_limited;
    assert.deepEqual([status_code, error.code, error.type, error.param], [status, "rate_limited", type, null]);
    assert.ok(error.message.length > 20);
    assert.deepEqual([ratelimit?.period, ratelimit?.characteristics.includes("cf.colo.id")], [60, true]);
  }
});
