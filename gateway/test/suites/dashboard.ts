import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { rootAnswer } from "@inference/protocol/wire/answers";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

/** A browser is given the dashboard; whoever else asks is answered as a program. */
const asBrowser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

export function testDashboard(start: StartHost): void {
  describe("the dashboard", () => {
    const host = hostFor(start);
    let page: string;
    before(async () => {
      page = await (await host.call("/", { headers: asBrowser })).text();
    });

    test("a browser gets the page, with a policy that lets nothing else in", async () => {
      const answer = await host.call("/", { headers: asBrowser });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
      assert.deepEqual([answer.headers.get("cache-control"), answer.headers.get("vary")], ["no-cache", "accept"]);
      const policy = answer.headers.get("content-security-policy") ?? "";
      assert.match(
        policy,
        /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src/,
      );
      assert.doesNotMatch(policy, /unsafe|\*(?!$|;)|https:/);
      assert.doesNotMatch(page, /https?:\/\//);
      assert.equal((await host.call("/", { headers: asBrowser, method: "HEAD" })).status, 200);
    });

    test("a program gets the addresses, as before", async () => {
      for (const accept of ["*/*", "application/json", ""]) {
        const answer = await host.call("/", { headers: { accept } });
        assert.ok(rootAnswer.safeParse(await answer.json()).success, accept);
        assert.equal(answer.headers.get("vary"), "accept");
      }
    });

    test("every file that the page names is there, for ever, compressed or not", async () => {
      const names = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
      assert.ok(names.length >= 3, page);
      for (const path of names) {
        assert.match(path, /^\/assets\/[a-z]+-[0-9A-Z]{8}\.(js|css|svg)$/);
        const [plain, compressed] = [
          await host.call(path, { headers: { "accept-encoding": "identity" } }),
          await host.call(path, { headers: { "accept-encoding": "gzip" } }),
        ];
        const type = path.endsWith(".js") ? "text/javascript" : path.endsWith(".css") ? "text/css" : "image/svg+xml";
        assert.equal(plain.headers.get("content-type"), `${type}; charset=utf-8`);
        assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
        assert.equal(plain.headers.get("content-encoding"), null);
        assert.equal(await plain.text(), await compressed.text());
      }
    });

    test("a browser gets the page at every place, and with 404 elsewhere; a program never gets it", async () => {
      const places = [
        "/chat",
        "/models",
        "/models/maker/a%20model",
        "/keys",
        "/activity/req_1",
        "/funds",
        "/agents/0x1",
      ];
      for (const path of [...places, "/verify", "/status?x=1", "/settings", "/login", "/index.html", "/keysx"]) {
        const answer = await host.call(path, { headers: asBrowser });
        assert.equal(answer.status, path === "/index.html" || path === "/keysx" ? 404 : 200, path);
        assert.equal(await answer.text(), page, path);
        assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
        for (const [method, accept] of [
          ["GET", "*/*"],
          ["POST", "text/html"],
        ] as const) {
          const program = await host.call(path, { method, headers: { accept } });
          assert.equal(program.status, 404, path);
          assert.match(program.headers.get("content-type") ?? "", /^application\/json/, path);
        }
      }
    });

    test("what is no file of it, and every path of the API, is never answered with a page", async () => {
      const paths = ["/assets/main.js", "/assets/constructor", "/assets/", "/api/v1/nothing", "/v1/nothing", "/auth/x"];
      for (const path of [...paths, "/v1/chat/completions", "/api/v1/credits"]) {
        const answer = await host.call(path, { headers: asBrowser });
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json/, path);
        assert.ok(answer.status >= 400, path);
      }
      const status = await host.call("/api/v1/status", { headers: asBrowser });
      assert.match(status.headers.get("content-type") ?? "", /^application\/json/);
    });

    test("a reader's own node is allowed for one page, and nothing else can be written into the policy", async () => {
      const policyOf = async (node: string) => {
        const answer = await host.call(`/?node=${encodeURIComponent(node)}`, { headers: asBrowser });
        assert.equal(answer.status, 200, node);
        return answer.headers.get("content-security-policy") ?? "";
      };
      const usual = await policyOf("");
      const own = await policyOf("https://node.example/v3/secret?x=1");
      assert.equal(own, usual.replace("connect-src 'self'", "connect-src 'self' https://node.example"));
      assert.match(await policyOf("http://[::1]:8545"), /connect-src 'self' http:\/\/\[::1\]:8545/);
      for (const wrong of [
        "https://a.example; script-src *",
        "javascript:alert(1)",
        "*",
        "data:text/html,x",
        "https:",
        "https://*",
        "https://*.example",
        "http://a;sandbox",
        "https://a'b",
      ]) {
        assert.equal(await policyOf(wrong), usual, wrong);
      }
    });
  });
}
