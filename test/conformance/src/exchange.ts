import assert from "node:assert/strict";
import { Ajv, type ValidateFunction } from "ajv";
import { type OpenaiSchema, openaiSchemas } from "./schemas/openai.ts";
import type { Target } from "./target.ts";

/** One request and its answer on the wire. */
export type Exchange = {
  method: string;
  /** Path and query. */
  path: string;
  status: number;
  headers: Headers;
  body: Uint8Array;
  /** The body came to its end. */
  whole: boolean;
};

/**
 * Holds any answer of the gateway against what is documented of it: OpenAI's schemas, the errors of its operation, and
 * the headers that every response has. Throws an assertion error that shows the exchange.
 */
export function checkExchange(exchange: Exchange, target: Target): void {
  const { method, path, status, headers } = exchange;
  const where = `${method} ${path.slice(0, 200)}: ${status}`;
  assert.match(headers.get("x-request-id") ?? "none", /^req_[0-9a-z]{26}$/, `${where}: x-request-id`);
  assert.equal(headers.get("access-control-allow-origin"), "*", `${where}: CORS`);
  assert.equal(headers.get("access-control-allow-credentials"), null, `${where}: CORS with cookies`);
  assert.equal(headers.get("set-cookie"), null, `${where}: a cookie`);
  if (status >= 400) {
    checkError(exchange, where, target);
    return;
  }
  assert.equal(headers.get("x-should-retry"), null, `${where}: a word on retries`);
  const type = mediaType(headers);
  if (method === "HEAD" || status === 204) assert.equal(exchange.body.length, 0, `${where}: a body`);
  else if (type === "text/event-stream" && isTyped(path)) checkTypedEvents(exchange, where);
  else if (type === "text/event-stream") checkEvents(exchange, where);
  else if (/^(audio|image)\//.test(type)) assert.ok(exchange.body.length > 0, `${where}: no bytes`);
  else if (isApi(path)) {
    assert.equal(type, "application/json", where);
    if (exchange.whole) checkShape(schemaOf(path), parseJson(exchange.body, where), where);
  }
}

/** The data of the events that came whole. */
export function eventsOf(body: Uint8Array): string[] {
  return utf8
    .decode(body)
    .split(/\r\n\r\n|\n\n|\r\r/)
    .slice(0, -1)
    .map((event) => event.split(/\r\n|\n|\r/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : [])))
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => line.replace(/^ /, "")).join("\n"));
}

const utf8 = new TextDecoder();

function checkEvents({ body, whole }: Exchange, where: string): void {
  const events = eventsOf(body);
  for (const [index, event] of events.entries()) {
    if (event === "[DONE]") {
      assert.equal(index, events.length - 1, `${where}: events after [DONE]`);
      continue;
    }
    const value = parseJson(Buffer.from(event), where) as { error?: unknown };
    if (value.error === undefined) checkShape("chunk", value, where);
    else {
      checkShape("error", value, where);
      assert.equal(index, events.length - 1, `${where}: events after an error`);
    }
  }
  if (!whole) return;
  const last = events.at(-1) ?? "";
  assert.ok(last === "[DONE]" || last.startsWith('{"error":'), `${where}: the stream just ends, after ${last}`);
}

/** The APIs whose events have a type, and end with one of these. */
const lastEvents = /^(response\.(completed|incomplete|failed)|message_stop|error)$/;

function isTyped(path: string): boolean {
  return /\/v1\/(responses|messages)\/?(\?|$)/.test(path);
}

function checkTypedEvents({ body, whole }: Exchange, where: string): void {
  const typed = eventsOf(body).map((event) => parseJson(Buffer.from(event), where) as { type: string });
  const names = [...utf8.decode(body).matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  if (!whole) return;
  assert.deepEqual(
    names,
    typed.map(({ type }) => type),
    `${where}: events that are not named after their type`,
  );
  assert.match(typed.at(-1)?.type ?? "none", lastEvents, `${where}: the stream just ends`);
}

/** By the types of Anthropic's API reference. */
const messagesTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
};

/** An error of the Messages API, as one of OpenAI's. */
function openaiError(value: unknown, { status, headers }: Exchange, where: string): unknown {
  const { type, error, request_id } = value as { type: string; error: { type: string }; request_id: string };
  assert.equal(type, "error", where);
  assert.equal(error.type, messagesTypes[status] ?? "invalid_request_error", where);
  assert.equal(request_id, headers.get("x-request-id"), where);
  assert.equal(headers.get("request-id"), request_id, where);
  return { error: { ...error, type: types[status] ?? "server_error" } };
}

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "insufficient_balance",
  403: "permission_error",
  404: "invalid_request_error",
  405: "invalid_request_error",
  408: "invalid_request_error",
  409: "idempotency_error",
  413: "invalid_request_error",
  415: "invalid_request_error",
  422: "idempotency_error",
  429: "rate_limit_error",
};

/** OpenAI's clients sleep as long as Retry-After says, and try again unless they are told not to. */
function checkError(exchange: Exchange, where: string, target: Target): void {
  const { method, path, headers, body, status, whole } = exchange;
  assert.equal(mediaType(headers), "application/json", where);
  const retry = headers.get("x-should-retry");
  assert.match(retry ?? "none", /^(true|false)$/, `${where}: x-should-retry`);
  const after = headers.get("retry-after");
  if (retry === "false") assert.equal(after, null, `${where}: Retry-After on what does not heal`);
  else if (after !== null) assert.match(after, /^[1-5]$/, `${where}: Retry-After`);
  // Clients that try again leave the body.
  if (method === "HEAD" || !whole) return;
  const said = parseJson(body, where);
  const isMessages = /\/v1\/messages(\/count_tokens)?\/?(\?|$)/.test(path);
  const value = isMessages ? openaiError(said, exchange, where) : said;
  checkShape("error", value, where);
  const { error } = value as { error: { type: string; code: string; message: string } };
  // The Responses API answers 503 where other APIs answer 429 for seconds.
  const isBusy = status === 503 && /\/v1\/responses\/?(\?|$)/.test(path) && error.type === "rate_limit_error";
  if (!isBusy) assert.equal(error.type, types[status] ?? "server_error", where);
  const isDocumented = target.documentedErrors({ method, path, status, code: error.code });
  assert.notEqual(isDocumented, false, `${where}: the document has no ${error.code} for it`);
  assert.ok(error.message.length > 10 && error.message.length < 600, `${where}: ${error.message}`);
}

function mediaType(headers: Headers): string {
  return headers.get("content-type")?.split(";", 1)[0] ?? "none";
}

/** Other paths are pages of the reference and of an operator's tools. */
function isApi(path: string): boolean {
  return /^\/(api|v1|auth)\b/.test(path);
}

/** The published shape of a path's whole answers; undefined for routes that OpenAI has not. */
function schemaOf(path: string): OpenaiSchema | undefined {
  const route = path.replace(/^\/(api\/)?v1\//, "").replace(/\/?(\?.*)?$/, "");
  if (route === "chat/completions") return "completion";
  if (route === "embeddings") return "embeddings";
  if (route === "images/generations") return "images";
  if (route === "models") return "models";
  if (/^models\/(traits|compatibility_mapping)$/.test(route)) return undefined;
  return route.startsWith("models/") ? "model" : undefined;
}

const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false });
const validators = Object.fromEntries(
  Object.entries(openaiSchemas).map(([name, schema]) => [name, ajv.compile(schema)]),
) as Record<OpenaiSchema, ValidateFunction>;

function checkShape(schema: OpenaiSchema | undefined, value: unknown, where: string): void {
  if (schema === undefined) return;
  const validate = validators[schema];
  if (validate(value)) return;
  assert.fail(`${where}: no ${schema}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 500)}`);
}

function parseJson(body: Uint8Array, where: string): unknown {
  const text = utf8.decode(body);
  try {
    return JSON.parse(text);
  } catch {
    return assert.fail(`${where}: not JSON: ${text.slice(0, 300)}`);
  }
}
