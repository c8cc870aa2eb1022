/**
 * A route of the API and who may use it. The list of routes is the gateway's own document (`documented-routes.ts`); what
 * we expect of them is written here, from the specification and not from the code that answers.
 */
export type DocumentedRoute = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  use: Use;
  /** It is refused without something in its query. */
  needsQuery?: boolean;
};

/**
 * - `public`: a credential is not looked at.
 * - `models`: without a credential too, but a bad one is refused.
 * - `own`: without a credential too; a bad one is refused, and so is an agent's session, which has no account.
 * - `signed`: a signed message in the body says who it is; a credential is not looked at.
 * - `paid`: whose credential it is pays; an API key its account, a session its identity's capacity.
 * - `account`: an API key or a wallet's own session reads what is its account's; `reader`: an agent's session does too.
 * - `session`: any session; `personal`: a wallet's own session, and not an agent's.
 * - `operator`: a token of whoever runs the gateway, which nobody here has.
 */
export type Use =
  | "public"
  | "models"
  | "own"
  | "signed"
  | "paid"
  | "account"
  | "reader"
  | "session"
  | "personal"
  | "operator";

const text = "A word on harbours. [[tokens=2]]";

/**
 * Paid routes below both prefixes, each with a valid body. One with bytes is sent as a form. Other routes get an empty
 * object.
 */
export const paidBodies: Readonly<Record<string, object>> = {
  "/chat/completions": { model: "sim-small", max_tokens: 10, messages: [{ role: "user", content: text }] },
  "/responses": { model: "sim-small", max_output_tokens: 10, input: text },
  "/messages": { model: "sim-small", max_tokens: 10, messages: [{ role: "user", content: text }] },
  "/embeddings": { model: "sim-embedding", input: text },
  "/images/generations": { model: "sim-image", prompt: text },
  "/image/generate": { model: "sim-image", prompt: text },
  "/images/edits": { model: "sim-edit", prompt: text, image: png() },
  "/image/edit": { model: "sim-edit", prompt: text, image: png().toString("base64") },
  "/image/upscale": { model: "sim-upscaler", image: png() },
  "/audio/speech": { model: "sim-speech", input: text, voice: "af_sky" },
  "/audio/transcriptions": { model: "sim-transcribe", file: wavOfSilence() },
};

/** The first bytes of a picture, enough for the checks of its form. */
export function png(): Buffer {
  return Buffer.from("\u0089PNG\r\n\u001a\n", "latin1");
}

/** Half a second, in 16 bits at 8 kHz. */
export function wavOfSilence(): Uint8Array {
  const bytes = Buffer.alloc(44 + 8_000);
  bytes.write("RIFF\u0000\u0000\u0000\u0000WAVEfmt \u0010\u0000\u0000\u0000\u0001\u0000\u0001\u0000", "latin1");
  bytes.writeUInt32LE(8_000, 24);
  bytes.writeUInt32LE(16_000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(8_000, 40);
  return bytes;
}

/** The bytes of a body and its media type. */
export function writeBody(body: object): { type: string; body: string | Uint8Array } {
  const fields = Object.entries(body) as [string, unknown][];
  if (!fields.some(([, value]) => value instanceof Uint8Array))
    return { type: "application/json", body: JSON.stringify(body) };
  const boundary = "conformance-boundary";
  const parts = fields.flatMap(([name, value]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"`),
    Buffer.from(value instanceof Uint8Array ? '; filename="file"\r\n\r\n' : "\r\n\r\n"),
    Buffer.from(value instanceof Uint8Array ? value : String(value)),
    Buffer.from("\r\n"),
  ]);
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) };
}

export const prefixes = ["/api/v1", "/v1"] as const;

/** Stands for addresses in paths: of an account or an agent that nobody has heard of. */
export const someAddress = `0x${"5".repeat(40)}`;

/** Required routes. The tests fill in the `{id}` of a key. */
export const expectedRoutes: readonly DocumentedRoute[] = [
  ...prefixes.flatMap((prefix): DocumentedRoute[] => [
    ...Object.keys(paidBodies).map((path): DocumentedRoute => ({ method: "POST", path: prefix + path, use: "paid" })),
    { method: "POST", path: `${prefix}/quote`, use: "paid" },
    { method: "GET", path: `${prefix}/models`, use: "models" },
    { method: "GET", path: `${prefix}/models/sim-small`, use: "models" },
    { method: "GET", path: `${prefix}/models/traits`, use: "models" },
    { method: "GET", path: `${prefix}/models/compatibility_mapping`, use: "models" },
    { method: "GET", path: `${prefix}/image/styles`, use: "models" },
  ]),
  { method: "POST", path: "/auth", use: "signed" },
  { method: "DELETE", path: "/auth", use: "session" },
  { method: "GET", path: "/auth/nonce", use: "public" },
  { method: "POST", path: "/api/v1/keys", use: "signed" },
  { method: "GET", path: "/api/v1/keys", use: "personal" },
  { method: "GET", path: "/api/v1/keys/message", use: "public", needsQuery: true },
  { method: "POST", path: "/api/v1/keys/{id}/roll", use: "signed" },
  { method: "POST", path: "/api/v1/keys/{id}/limit", use: "signed" },
  { method: "PATCH", path: "/api/v1/keys/{id}", use: "personal" },
  { method: "DELETE", path: "/api/v1/keys/{id}", use: "personal" },
  { method: "POST", path: "/api/v1/webhooks", use: "personal" },
  { method: "GET", path: "/api/v1/webhooks", use: "personal" },
  { method: "GET", path: "/api/v1/webhooks/deliveries", use: "personal" },
  { method: "POST", path: "/api/v1/webhooks/{id}/test", use: "personal" },
  { method: "DELETE", path: "/api/v1/webhooks/{id}", use: "personal" },
  { method: "GET", path: "/api/v1/key", use: "reader" },
  { method: "GET", path: "/api/v1/credits", use: "account" },
  { method: "GET", path: `/api/v1/activations/${someAddress}`, use: "public" },
  { method: "GET", path: "/api/v1/top-up", use: "public" },
  { method: "POST", path: "/api/v1/top-up", use: "signed" },
  { method: "GET", path: "/api/v1/top-up/message", use: "public", needsQuery: true },
  { method: "GET", path: "/api/v1/top-up/{id}", use: "public" },
  { method: "GET", path: "/api/v1/generation", use: "reader" },
  { method: "GET", path: "/api/v1/activity", use: "reader" },
  { method: "GET", path: `/api/v1/agents/${someAddress}/offer`, use: "public" },
  { method: "PUT", path: `/api/v1/agents/${someAddress}/offer`, use: "signed" },
  { method: "DELETE", path: `/api/v1/agents/${someAddress}/offer`, use: "signed" },
  { method: "GET", path: "/api/v1/statements", use: "account" },
  { method: "GET", path: "/api/v1/statements/uses", use: "account" },
  { method: "GET", path: "/api/v1/prices/{snapshot}", use: "public" },
  { method: "GET", path: "/api/v1/reconciliations", use: "public" },
  { method: "GET", path: "/api/v1/reconciliations/{day}", use: "public" },
  { method: "GET", path: "/api/v1/status", use: "public" },
  { method: "GET", path: "/api/v1/contracts", use: "public" },
  { method: "GET", path: "/healthz", use: "public" },
  { method: "GET", path: "/metrics", use: "operator" },
  { method: "POST", path: "/mcp", use: "models" },
  { method: "GET", path: "/", use: "public" },
  { method: "GET", path: "/assets/{name}", use: "public" },
  { method: "GET", path: "/openapi.json", use: "public" },
  { method: "GET", path: "/docs", use: "public" },
  { method: "GET", path: "/docs/{page}", use: "public" },
  { method: "GET", path: "/llms.txt", use: "public" },
  { method: "GET", path: "/skill.md", use: "public" },
];

/** Routes of other services and of the provider, and other spellings of the gateway's routes. */
export const undocumentedPaths: readonly string[] = [
  "/admin",
  "/.env",
  "/favicon.ico",
  "/v1",
  "/v1/",
  "/api",
  "/api/v1",
  "/api/v2/chat/completions",
  "/v2/models",
  "/v1/files",
  "/v1/batches",
  "/v1/responses/resp_1",
  "/v1/completions",
  "/v1/moderations",
  "/v1/assistants",
  "/v1/threads",
  "/v1/fine_tuning/jobs",
  "/v1/audio/translations",
  "/v1/images/variations",
  "/v1/video/queue",
  "/v1/characters",
  "/v1/image/multi-edit",
  "/v1/image/background-remove",
  "/api/v1/billing/balance",
  "/api/v1/billing/usage-history",
  "/v1/x402/top-up",
  "/v1/chat",
  "/v1/embeddings/x",
  "/v1/augment/scrape",
  "/v1/api_keys",
  "/v1/api_keys/rate_limits",
  "/api/v1/api_keys",
  "/api/v1/api_keys/generate_web3_key",
  "/api/v1/billing/usage",
  "/api/v1/billing/usage-analytics",
  "/v1/keys",
  "/v1/status",
  "/v1/auth",
  "/api/v1/auth",
  "/keys",
  "/credits",
  "/chat/completions",
  "/api/chat/completions",
  "/api/v1/v1/chat/completions",
  "/v1/api/v1/chat/completions",
  "/V1/chat/completions",
  "/v1/Chat/Completions",
  "/v1/chat/completions/extra",
  "/v1/chat/completions;a=b",
  "/v1/chat/completions%20",
  "/v1/chat/completions%00",
  "/v1/chat/completions.json",
  "/v1/chat%2fcompletions",
  "//v1/chat/completions",
  "/v1//chat/completions",
  "/auth/nonce/extra",
  "/auth/session",
  "/api/v1/keys/a/b",
  "/api/v1/status/extra",
  "/healthz/extra",
  "/__simulator",
  "/__simulator/config",
];
