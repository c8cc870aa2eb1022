import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, Connection } from "./client.ts";
import { type PlainAnswer, type PlainRequest, plainCalls } from "./plain.ts";

export const missingCurl =
  spawnSync("curl", ["--version"]).status === 0 ? undefined : "There is no curl: apt-get install curl.";

export const curl: Client = {
  name: "curl",
  cannot: {},
  open: async (connection) => plainCalls((request) => send(connection, request)),
};

async function send(
  { baseUrl, apiKey, wire, retries }: Connection,
  { method, path, body, signal, onBytes }: PlainRequest,
): Promise<PlainAnswer> {
  const folder = mkdtempSync(join(tmpdir(), "curl-"));
  const headsFile = join(folder, "heads");
  const args = ["-sS", "-N", "-X", method, "-D", headsFile, "--retry", String(retries)];
  args.push("-H", `Authorization: Bearer ${apiKey}`);
  if (body !== undefined) args.push("-H", "Content-Type: application/json", "--data-binary", "@-");
  const child = spawn("curl", [...args, baseUrl + path], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const abort = (): boolean => child.kill();
  signal?.addEventListener("abort", abort, { once: true });
  child.stdin.on("error", () => {});
  child.stdin.end(body ?? "");
  let bytes = Buffer.alloc(0);
  let code: unknown;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes = Buffer.concat([bytes, chunk]);
      onBytes?.(chunk);
    }
  } finally {
    [code] = await exited;
    signal?.removeEventListener("abort", abort);
    for (const { status, headers } of readHeads(headsFile)) {
      // It writes one try's answer after the other's; those that it tries again have a length.
      const length = Number(headers.get("content-length") ?? bytes.length);
      const { pathname } = new URL(baseUrl + path);
      wire.exchanges.push({
        method,
        path: pathname,
        status,
        headers,
        body: bytes.subarray(0, length),
        whole: code === 0,
      });
      bytes = bytes.subarray(length);
    }
    rmSync(folder, { recursive: true });
  }
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`curl ended with ${code}`);
  const { status = 0, body: answer = bytes } = wire.exchanges.at(-1) ?? {};
  return { status, body: answer };
}

/** The heads of the answers, one for each try. */
function readHeads(file: string): { status: number; headers: Headers }[] {
  return readFileSync(file, "latin1")
    .split("\r\n\r\n")
    .filter((head) => head.startsWith("HTTP/"))
    .map((head) => {
      const [first = "", ...lines] = head.split("\r\n");
      const pairs = lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      });
      return { status: Number(first.split(" ")[1]), headers: new Headers(pairs) };
    });
}
