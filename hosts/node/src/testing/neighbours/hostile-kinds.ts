import { randomBytes } from "node:crypto";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { formatSiweMessage } from "@inference/protocol/siwe";

/** What hostile clients do, each kind by itself. Credentials stand for accounts of the books, see `neighbourhood.ts`. */
export type HostileKind = {
  /** What each connection sends, again and again, or once if it is not `again`. */
  request(connection: number, round: number): HostileRequest;
  /** How its answer is read: to the end, never, a few kilobytes now and then. */
  reads?: "all" | "nothing" | "slowly";
  /** So many bytes of the body are sent each tenth of a second; all at once without it. */
  trickles?: number;
  /** Announces so many more bytes than it sends: the connection stays open until the gateway closes it. */
  withholds?: number;
  /** Sends one request after the other on one connection, as fast as they are answered; else each has its own. */
  keepsAlive?: boolean;
};

export type HostileRequest = {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: Buffer;
};

export type HostileKeys = { paying: string; revoked: string; unpaid: string; others: readonly string[] };

const KIB = 1024;
const MIB = 1024 * KIB;
const CHAT = "/v1/chat/completions";

export function makeHostileKinds(keys: HostileKeys, baseUrl: string) {
  const post = (path: string, key: string, body: string | Buffer, headers: object = {}): HostileRequest => ({
    method: "POST",
    path,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: Buffer.from(body as string),
  });
  const get = (path: string, key: string | null, headers: Record<string, string> = {}): HostileRequest => ({
    method: "GET",
    path,
    headers: key === null ? headers : { authorization: `Bearer ${key}`, ...headers },
  });
  /** Requests of one kind go round among accounts: none of them has more in flight than it may. */
  const keyOf = (connection: number): string => keys.others[connection % keys.others.length] ?? keys.paying;
  const chat = (content: string, more = ""): string =>
    `{"model":"sim-small","max_tokens":10${more},"messages":[{"role":"user","content":${content}}]}`;
  const numbers = (count: number): string => chat(`[${"0,".repeat(count - 1)}0]`);
  const embed = (mb: number): string => `{"model":"sim-embedding","input":"[[mb=${mb}]]"}`;
  const manyNumbers = numbers(30_000);
  const tool = '{"type":"function","function":{"name":"a","parameters":{"a":[0,1,2]}}}';
  const small = {
    names: `{"model":"sim-small","messages":[],${Array.from({ length: 4_000 }, (_, n) => `"k${n}":0`).join(",")}}`,
    brackets: chat(`${"[".repeat(30_000)}${"]".repeat(30_000)}`),
    tools: chat('"a"', `,"tools":[${`${tool},`.repeat(700)}${tool}]`),
    parts: chat(`[${'{"type":"x"},'.repeat(1_500)}0]`),
  };
  const large = {
    text: chat(`"${"x".repeat(8 * MIB - KIB)}"`),
    escapes: chat(`"${"\\u0041".repeat((8 * MIB - KIB) / 6)}"`),
    values: numbers(4 * MIB - KIB),
    objects: chat(`[${'{"a":0},'.repeat(MIB - KIB)}0]`),
    nested: chat(`${"[".repeat(2 * MIB)}${"]".repeat(2 * MIB)}`),
    keys: chat('"a"', `,"metadata":{${Array.from({ length: 500_000 }, (_, n) => `"k${n}":0`).join(",")}}`),
  };
  const flood = chat('"[[flood=200000]]"', ',"stream":true').replace('"max_tokens":10', '"max_tokens":4000');
  const wallet = "0x5B38Da6a701c568545dCfcB03FcB875f56beddC4";
  const signIn = (resources: string[]): string =>
    JSON.stringify({
      message: formatSiweMessage({
        domain: new URL(baseUrl).host,
        address: wallet,
        uri: baseUrl,
        version: "1",
        chainId: 31_337,
        nonce: randomBytes(8).toString("hex"),
        issuedAt: Date.now(),
        expirationTime: Date.now() + 300_000,
        resources,
      }),
      signature: `0x${randomBytes(64).toString("hex")}1b`,
    });
  const open = (path: string, body: () => string): HostileKind => ({
    request: () => ({
      method: "POST",
      path,
      headers: { "content-type": "application/json" },
      body: Buffer.from(body()),
    }),
  });
  const encoded = (encoding: string) => ({ "content-encoding": encoding });
  /** A zstd frame whose header asks for the largest window, and nothing more of it. */
  const window = Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (27 - 10) << 3, 0xfc, 0xff, 0x0f]),
    Buffer.alloc(78),
  ]);
  const largestWindow = { params: { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 } };
  const trailing = Buffer.concat([zstdCompressSync(Buffer.from(chat('"a"'))), Buffer.alloc(192 * KIB, 7)]);
  const bombs = {
    gzip: gzipSync(Buffer.alloc(16 * MIB, 32)),
    br: brotliCompressSync(Buffer.alloc(16 * MIB, 32), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    zstd: zstdCompressSync(Buffer.alloc(16 * MIB, 32)),
  };
  const withoutKey = (path: string, body: Buffer, encoding: string): HostileRequest => ({
    method: "POST",
    path,
    headers: { "content-type": "application/json", ...encoded(encoding) },
    body,
  });
  const kinds = {
    "idle zstd windows, no key": { request: () => withoutKey("/auth", window, "zstd"), withholds: 10_000 },
    "idle zstd windows": { request: (n) => post(CHAT, keyOf(n), window, encoded("zstd")), withholds: 10_000 },
    "whole zstd windows": {
      request: (n) => post(CHAT, keyOf(n), zstdCompressSync(Buffer.from("{}"), largestWindow), encoded("zstd")),
    },
    "zstd with trailing bytes, no key": { request: () => withoutKey("/auth", trailing, "zstd") },
    "zstd with trailing bytes": { request: (n) => post(CHAT, keyOf(n), trailing, encoded("zstd")) },
    "gzip bombs, no key": { request: () => withoutKey("/auth", bombs.gzip.subarray(0, 16 * KIB), "gzip") },
    "gzip bombs": { request: (n) => post(CHAT, keyOf(n), bombs.gzip, encoded("gzip")) },
    "br bombs": { request: (n) => post(CHAT, keyOf(n), bombs.br, encoded("br")) },
    "zstd bombs": { request: (n) => post(CHAT, keyOf(n), bombs.zstd, encoded("zstd")) },
    "numbers, a paying key": { request: () => post(CHAT, keys.paying, manyNumbers) },
    "numbers, a revoked key": { request: () => post(CHAT, keys.revoked, manyNumbers) },
    "numbers, an unpaid key": { request: () => post(CHAT, keys.unpaid, manyNumbers) },
    "4,000 names, kept alive": { request: (n) => post(CHAT, keyOf(n), small.names), keepsAlive: true },
    "30,000 brackets, kept alive": { request: (n) => post(CHAT, keyOf(n), small.brackets), keepsAlive: true },
    "700 tools, kept alive": { request: (n) => post(CHAT, keyOf(n), small.tools), keepsAlive: true },
    "1,500 odd parts, kept alive": { request: (n) => post(CHAT, keyOf(n), small.parts), keepsAlive: true },
    "8 MiB of text": { request: (n) => post(CHAT, keyOf(n), large.text) },
    "8 MiB of escapes": { request: (n) => post(CHAT, keyOf(n), large.escapes) },
    "8 MiB of numbers": { request: (n) => post(CHAT, keyOf(n), large.values) },
    "8 MiB of objects": { request: (n) => post(CHAT, keyOf(n), large.objects) },
    "4 MiB of brackets": { request: (n) => post(CHAT, keyOf(n), large.nested) },
    "500,000 names": { request: (n) => post(CHAT, keyOf(n), large.keys) },
    "bodies that trickle": { request: (n) => post(CHAT, keyOf(n), manyNumbers), trickles: 10 },
    "4 MB embeddings, unread": {
      request: (n) => post("/v1/embeddings", keyOf(n), embed(4)),
      reads: "nothing",
    },
    "60 MB embeddings": { request: (n) => post("/v1/embeddings", keyOf(n), embed(60)) },
    "60 MB embeddings, read slowly": { request: (n) => post("/v1/embeddings", keyOf(n), embed(60)), reads: "slowly" },
    "20 MB images": {
      request: (n) => post("/v1/images/generations", keyOf(n), '{"model":"sim-image","prompt":"[[mb=20]]"}'),
    },
    "streams, unread": { request: (n) => post(CHAT, keyOf(n), flood), reads: "nothing" },
    "flooded streams": { request: (n) => post(CHAT, keyOf(n), flood) },
    "invalid credentials": { request: () => post(CHAT, `ik_${randomBytes(40).toString("hex")}`, chat('"a"')) },
    "bad signatures": open("/auth", () => signIn([])),
    "bad signatures for keys": open("/api/v1/keys", () => signIn([`${baseUrl}/api/v1/keys?name=a`])),
    "16 KiB sign-ins of nothing": open("/auth", () => `{"message":"${"\\n".repeat(8_000)}","signature":"0x"}`),
    activity: { request: () => get("/api/v1/activity?limit=1000", keys.paying) },
    "activity as CSV": { request: () => get("/api/v1/activity?limit=1000&format=csv", keys.paying) },
    "activity added up": { request: () => get("/api/v1/activity?group_by=day,model,key", keys.paying) },
    models: { request: () => get("/v1/models", null) },
    docs: { request: (_, round) => get(["/docs", "/openapi.json", "/llms.txt"][round % 3] ?? "/docs", null) },
    "answers kept": {
      request: (n) =>
        post(CHAT, keyOf(n), chat('"[[mb=1]]"').replace('"max_tokens":10', '"max_tokens":4000'), {
          "idempotency-key": `kept-${n}`,
        }),
    },
    "long headers": { request: (n) => get("/api/v1/key", keyOf(n), { "x-long": "a".repeat(15_000) }) },
    "long queries": { request: (n) => get(`/api/v1/activity?${"a=%41&".repeat(2_500)}`, keyOf(n)) },
  } satisfies Record<string, HostileKind>;
  return kinds as Record<keyof typeof kinds, HostileKind>;
}

export type HostileKindName = keyof ReturnType<typeof makeHostileKinds>;
