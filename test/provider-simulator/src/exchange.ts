import type { IncomingMessage, ServerResponse } from "node:http";
import type { Model } from "./catalogue.ts";
import { usdFromAtto } from "./decimal.ts";
import type { WireAnswer } from "./errors.ts";
import type { ApiKey } from "./keys.ts";
import type { RequestRecord } from "./record.ts";
import type { Simulator } from "./simulator.ts";
import { HEADER_PREFIX } from "./wire.ts";

/** One request and its answer. */
export interface Exchange {
  readonly sim: Simulator;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The request's number since the start or the last reset. Ids in answers consist of it and the seed. */
  readonly sequence: number;
  readonly rayId: string;
  /** Below the base path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly record: RequestRecord;
  key: ApiKey | null;
  /** The model that the request names, once it is known. */
  model: string | null;
  /** The error budget's bucket, once the model and the user are known. */
  bucket: string | null;
  /** The client closed before it had everything. */
  gone: boolean;
  /** The simulator itself ended the connection. */
  cut: boolean;
}

/** Waits, at most until the client goes away; false if it went. */
export function sleep(x: Exchange, ms: number): Promise<boolean> {
  if (x.gone || ms <= 0) return Promise.resolve(!x.gone);
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      x.response.off("close", done);
      resolve(!x.gone);
    };
    const timer = setTimeout(done, ms);
    x.response.once("close", done);
  });
}

/** Waits for the gate to open, at most until the client goes away; false if it went. */
export function waitAt(x: Exchange, gate: Promise<void>): Promise<boolean> {
  const closed = new Promise<void>((resolve) => {
    if (x.gone) resolve();
    x.response.once("close", resolve);
  });
  return Promise.race([gate, closed]).then(() => !x.gone);
}

/** Writes and, when the socket's buffer is full, waits until it is not; false once the client is gone. */
export function write(x: Exchange, chunk: string | Uint8Array): boolean | Promise<boolean> {
  if (x.gone || x.response.destroyed) return false;
  if (x.response.write(chunk)) return true;
  return new Promise((resolve) => {
    const done = (): void => {
      x.response.off("drain", done);
      x.response.off("close", done);
      resolve(!x.gone);
    };
    x.response.once("drain", done);
    x.response.once("close", done);
  });
}

/** Ends the connection from our side: a reset, or an orderly close in the middle of whatever was being said. */
export function cut(x: Exchange, how: "rst" | "fin"): void {
  x.cut = true;
  const socket = x.response.socket;
  if (how === "rst") socket?.resetAndDestroy();
  else socket?.end();
}

const UNLIMITED_PER_MINUTE = 1_000_000;

/** The provider's own headers, as names and values by turns. The balances are the ones before this request. */
export function providerHeaders(x: Exchange, contentType: string | null, model: Model | null): string[] {
  const { sim } = x;
  const prefix = HEADER_PREFIX;
  const perMinute = sim.settings.requestsPerMinute ?? UNLIMITED_PER_MINUTE;
  const reset = String(Math.ceil((sim.now() + 1) / 60_000) * 60_000);
  const headers = contentType === null ? [] : ["content-type", contentType];
  headers.push(
    ...["cf-ray", x.rayId],
    ...["server", "cloudflare"],
    ...["set-cookie", `__cf_bm=${x.rayId}; path=/; HttpOnly`],
    ...[`${prefix}version`, "20261101.000000"],
    ...[`${prefix}timestamp`, new Date(sim.now()).toISOString()],
    ...[`${prefix}host-name`, "inference-7f9c-sim"],
  );
  if (x.key === null) return headers;
  headers.push(
    ...[`${prefix}balance-usd`, "1000000"],
    ...[`${prefix}balance-diem`, usdFromAtto(sim.ledger.diem())],
    ...["x-ratelimit-limit-requests", String(perMinute)],
    ...["x-ratelimit-remaining-requests", String(sim.limits.left(x.model ?? "", perMinute))],
    ...["x-ratelimit-reset-requests", reset],
    ...["x-ratelimit-limit-tokens", "1000000"],
    ...["x-ratelimit-remaining-tokens", "999000"],
    ...["x-ratelimit-reset-tokens", reset],
  );
  if (x.bucket !== null && sim.settings.errorBudget !== null) {
    headers.push("x-ratelimit-remaining", String(sim.limits.remaining(x.bucket, sim.settings.errorBudget)));
    headers.push("x-ratelimit-resets", reset);
  }
  if (model === null) return headers;
  headers.push(`${prefix}model-id`, model.id, `${prefix}model-name`, model.id, `${prefix}model-router`, "sim-router-1");
  return headers;
}

export function sendText(x: Exchange, status: number, headers: string[], text: string | Uint8Array): void {
  if (x.gone || x.response.headersSent) return;
  if (status !== 204) headers.push("content-length", String(Buffer.byteLength(text)));
  x.record.status = status;
  x.response.writeHead(status, headers);
  x.response.end(text);
}

export function sendJson(x: Exchange, text: string, model: Model | null = null): void {
  sendText(x, 200, providerHeaders(x, "application/json; charset=utf-8", model), text);
}

/** Sends an error and takes it from the error budget, if it is the client's. */
export function sendAnswer(x: Exchange, { status, body, headers: more }: WireAnswer): void {
  const { errorBudget } = x.sim.settings;
  const clientError = status >= 400 && status < 500 && status !== 429;
  if (clientError && x.bucket !== null && errorBudget !== null) x.sim.limits.failed(x.bucket, errorBudget);
  const { "content-type": type = "application/json; charset=utf-8", ...others } = more ?? {};
  const headers = [...providerHeaders(x, status === 204 ? null : type, null), ...Object.entries(others).flat()];
  sendText(x, status, headers, typeof body === "string" ? body : JSON.stringify(body));
}
