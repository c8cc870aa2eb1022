import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { freePort } from "@inference/contracts/free-port";
import { eventually } from "@inference/protocol/testing/eventually";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { binaryOf } from "./testing/binaries.ts";
import { read } from "./testing/kit.ts";

/** Debian's nginx and Caddy with the kit's examples, in front of a server in the gateway's place. */
const folder = mkdtempSync(join(tmpdir(), "proxies-"));
after(() => rmSync(folder, { recursive: true }));

/** Writes a file with each text replaced. A text that is not there is an error. */
function adapt(name: string, replacements: Record<string, string>, more = (text: string) => text): string {
  const adapted = Object.entries(replacements).reduce(
    (text, [from, to]) => {
      assert.ok(text.includes(from), from);
      return text.replaceAll(from, to);
    },
    read(`proxy/${name}`),
  );
  const file = join(folder, name);
  writeFileSync(file, more(adapted));
  return file;
}

const proxies = {
  nginx: {
    binary: () => binaryOf("nginx", "usr/sbin/nginx"),
    isSecure: true,
    prepare({ port, upstream }: { port: number; upstream: number }) {
      const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=gateway.example", "-days", "1"];
      execFileSync(
        "openssl",
        [...args, "-keyout", join(folder, "privkey.pem"), "-out", join(folder, "fullchain.pem")],
        {
          stdio: "ignore",
        },
      );
      const file = adapt(
        "nginx.conf",
        {
          "127.0.0.1:8787": `127.0.0.1:${upstream}`,
          "  listen [::]:443 ssl http2;\n": "",
          "listen 443 ssl": `listen 127.0.0.1:${port} ssl`,
          "/etc/letsencrypt/live/gateway.example": folder,
        },
        (server) => {
          const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
            (name) => `${name}_temp_path ${folder};`,
          );
          const http = `access_log off;\n${paths.join("\n")}\n${server}`;
          return `pid ${folder}/pid;\nerror_log stderr;\ndaemon off;\nevents {}\nhttp {\n${http}\n}\n`;
        },
      );
      const run = ["-e", "stderr", "-p", folder, "-c", file];
      return { check: [...run, "-t"], run };
    },
  },
  Caddy: {
    binary: () => binaryOf("caddy", "usr/bin/caddy"),
    isSecure: false,
    prepare({ port, upstream }: { port: number; upstream: number }) {
      const file = adapt(
        "Caddyfile",
        { "127.0.0.1:8787": `127.0.0.1:${upstream}`, "gateway.example {": `http://127.0.0.1:${port} {` },
        (site) => `{\n\tadmin off\n}\n${site}`,
      );
      const which = ["--config", file, "--adapter", "caddyfile"];
      return { check: ["validate", ...which], run: ["run", ...which] };
    },
  },
};

for (const [name, proxy] of Object.entries(proxies)) {
  const binary = proxy.binary();
  describe(`${name} with the kit's example`, { skip: binary === undefined && `there is no ${name}` }, async () => {
    if (binary === undefined) return;
    let asked = 0;
    let answer = (_: IncomingMessage, response: ServerResponse): void => void response.end();
    const upstream = await listenLocally(
      createServer((incoming, response) => {
        asked += 1;
        answer(incoming, response);
      }),
    );
    const port = await freePort();
    const { check, run } = proxy.prepare({ port, upstream: upstream.port });
    execFileSync(binary, check, { stdio: "pipe" });
    const process = spawn(binary, run, { stdio: "ignore", env: { ...globalThis.process.env, HOME: folder } });
    after(async () => {
      const ended = once(process, "exit");
      process.kill();
      await ended;
      await upstream.close();
    });

    const send = async (path: string, { body = "", headers = {} } = {}): Promise<IncomingMessage> => {
      const ask = proxy.isSecure ? secureRequest : request;
      const options = {
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        headers,
        rejectUnauthorized: false,
        agent: false as const,
      };
      const outgoing = ask(options);
      // A body that is too large may be refused before it was sent.
      outgoing.end(body);
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      return response;
    };
    const isUp = () =>
      send("/").then(
        () => true,
        () => false,
      );
    await eventually(isUp);

    test("passes each event on before the next one is there", async () => {
      let finish = (): void => {};
      answer = (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: first\n\n");
        finish = () => response.end("data: last\n\n");
      };
      const response = await send("/v1/chat/completions");
      const [first] = (await once(response, "data")) as [Buffer];
      assert.equal(first.toString(), "data: first\n\n");
      finish();
      assert.equal(await text(response), "data: last\n\n");
    });

    test("names the client's address last, whatever the client says", async () => {
      let forwarded: unknown;
      answer = ({ headers }, response) => {
        forwarded = headers["x-forwarded-for"];
        response.end();
      };
      await text(await send("/", { headers: { "x-forwarded-for": "203.0.113.1" } }));
      assert.equal(String(forwarded).split(", ").at(-1), "127.0.0.1");
    });

    test("passes a body of the gateway's limit and a byte on, refuses one of 10 MB, and hides /metrics", async () => {
      let bytes = 0;
      answer = (incoming, response) => {
        incoming.on("data", (part: Buffer) => {
          bytes += part.length;
        });
        incoming.on("end", () => response.end());
      };
      const size = 8 * 2 ** 20 + 1;
      assert.equal((await send("/", { body: "x".repeat(size) })).statusCode, 200);
      assert.equal(bytes, size);
      const before = asked;
      assert.equal((await send("/metrics")).statusCode, 404);
      assert.equal(asked, before);
      assert.notEqual((await send("/", { body: "x".repeat(10_000_000) })).statusCode, 200);
    });

    test("sends a request once, also if the gateway dies with it", async () => {
      answer = (incoming) => void incoming.on("data", () => {}).on("end", () => incoming.socket.destroy());
      const before = asked;
      assert.equal((await send("/", { body: "a request" })).statusCode, 502);
      assert.equal(asked, before + 1);
    });
  });
}
