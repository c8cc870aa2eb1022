import fc from "fast-check";
import { expectedRoutes, prefixes, undocumentedPaths } from "../documented.ts";
import { paidRequest, spoiled } from "./bodies.ts";

/** The sender of a request. The worker that sends it fills in the Authorization header. */
type Credential = "key" | "session" | "none" | "odd";

export type FuzzRequest = {
  method: string;
  path: string;
  credential: Credential;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
};

const json = { "content-type": "application/json" };
const prefix = fc.constantFrom(...prefixes);
const text = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value) ?? "");

type Paid = fc.Arbitrary<{ path: string; body: object }>;
const paid: Paid = fc.tuple(prefix, paidRequest).map(([before, [path, body]]) => ({ path: before + path, body }));
const post = { method: "POST", credential: "key" as Credential, headers: json as Record<string, string> };

const goodOf = (from: Paid): fc.Arbitrary<FuzzRequest> =>
  from.map(({ path, body }) => ({ ...post, path, body: text(body) }));
const good = goodOf(paid);

const spoiledBodyOf = (from: Paid): fc.Arbitrary<FuzzRequest> =>
  from.chain(({ path, body }) => spoiled(body).map((value) => ({ ...post, path, body: text(value) })));

/** JSON text that an editor had an accident with. */
const brokenTextOf = (from: Paid): fc.Arbitrary<FuzzRequest> =>
  fc
    .tuple(from, fc.nat(400), fc.nat(6), fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom(...accidents())))
    .map(([{ path, body }, at, removed, inserted]) => {
      const whole = JSON.stringify(body);
      const place = at % (whole.length + 1);
      return { ...post, path, body: Buffer.from(whole.slice(0, place) + inserted + whole.slice(place + removed)) };
    });

function accidents(): string[] {
  return [
    "1e400",
    "-0",
    "\\ud800",
    "\u0000",
    "\ufeff",
    '"model":"sim-free",',
    '"__proto__":{"model":"sim-free"},',
    '"max_tokens":1,"max_tokens":64,',
    "[".repeat(1_000),
    "}",
  ];
}

const bytes: fc.Arbitrary<FuzzRequest> = fc
  .tuple(paid, fc.uint8Array({ maxLength: 200 }))
  .map(([{ path }, body]) => ({ ...post, path, body }));

const headerName = fc.constantFrom(
  "accept",
  "accept-encoding",
  "content-encoding",
  "content-type",
  "cookie",
  "connection",
  "expect",
  "forwarded",
  "idempotency-key",
  "if-none-match",
  "openai-organization",
  "origin",
  "range",
  "te",
  "x-forwarded-for",
  "x-http-method-override",
  "x-request-id",
  "x-stainless-retry-count",
);
const headerValue = fc.oneof(
  fc.constantFrom(
    "application/json; charset=utf-8",
    "text/plain",
    "multipart/form-data; boundary=a",
    "gzip",
    "identity",
  ),
  fc.constantFrom("close", "*/*", "bytes=0-1", "trailers", "null", "100-continue", "req_0000000000000000000000000"),
  fc.stringMatching(/^[\x20-\x7e]{0,40}$/),
);
const oddHeaders: fc.Arbitrary<FuzzRequest> = fc
  .tuple(good, fc.dictionary(headerName, headerValue, { minKeys: 1, maxKeys: 3, noNullPrototype: true }))
  .map(([request, headers]) => ({ ...request, headers: { ...request.headers, ...headers } }));

const oddCredential: fc.Arbitrary<FuzzRequest> = fc
  .tuple(good, fc.constantFrom<Credential>("session", "none", "odd"))
  .map(([request, credential]) => ({ ...request, credential }));

const segment = fc.oneof(
  fc.constantFrom("v1", "api", "models", "keys", "..", ".", "", "%2e%2e", "%00", "chat", "completions", "a;b=c"),
  fc.webSegment(),
);
const path = fc.oneof(
  fc.constantFrom(...expectedRoutes.map((route) => route.path)),
  fc.constantFrom(...undocumentedPaths),
  fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join("/")}`),
);
const query = fc.option(fc.webQueryParameters(), { nil: undefined });

const anywhere: fc.Arbitrary<FuzzRequest> = fc
  .record({
    method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "PROPFIND"),
    path: fc.tuple(path, query).map(([at, more]) => (more === undefined ? at : `${at}?${more}`)),
    credential: fc.constantFrom<Credential>("key", "session", "none", "odd"),
    headers: fc.constant(json),
    body: fc.option(
      fc.oneof(
        fc.jsonValue().map(text),
        fc.record({ message: fc.string(), signature: fc.stringMatching(/^0x[0-9a-f]{0,130}$/) }).map(text),
        paidRequest.map(([, body]) => text(body)),
      ),
      { nil: undefined },
    ),
  })
  .map((request) => (/^(GET|HEAD|OPTIONS)$/.test(request.method) ? { ...request, body: undefined } : request));

/** Requests as clients might send them, from good ones to nonsense. */
export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 4, arbitrary: good },
  { weight: 7, arbitrary: spoiledBodyOf(paid) },
  { weight: 3, arbitrary: brokenTextOf(paid) },
  { weight: 1, arbitrary: bytes },
  { weight: 2, arbitrary: oddHeaders },
  { weight: 1, arbitrary: oddCredential },
  { weight: 3, arbitrary: anywhere },
);

/** Requests for one path, from good bodies to broken ones. */
export function requestsOf(path: string, bodies: fc.Arbitrary<object>): fc.Arbitrary<FuzzRequest> {
  const from = fc.tuple(prefix, bodies).map(([before, body]) => ({ path: before + path, body }));
  return fc.oneof(
    { weight: 2, arbitrary: goodOf(from) },
    { weight: 8, arbitrary: spoiledBodyOf(from) },
    { weight: 3, arbitrary: brokenTextOf(from) },
  );
}
