import type { ErrorBody } from "@inference/protocol/errors";
import type { Connection } from "./connection.ts";
import { ClientError, RefusedError } from "./errors.ts";

export type RequestOptions = {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Undefined values are left out. */
  query?: Readonly<Record<string, string | number | undefined>>;
  body?: unknown;
  /** An API key or a session's token. */
  bearer?: string | undefined;
  signal?: AbortSignal | undefined;
};

/**
 * The JSON of an answer. Throws `RefusedError` for the gateway's errors, `ClientError` `unreachable` for all others.
 */
export async function request<T>(connection: Connection, path: string, options: RequestOptions = {}): Promise<T> {
  const { value } = await answerOf(connection, path, options);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as T;
  const message = `${connection.gateway + path} did not answer as a gateway does. Check the gateway's URL.`;
  throw new ClientError("unreachable", message);
}

/** The text of an answer. Throws as `request` does. */
export async function requestText(connection: Connection, path: string): Promise<string> {
  return (await answerOf(connection, path, {})).text;
}

async function answerOf(
  connection: Connection,
  path: string,
  options: RequestOptions,
): Promise<{ text: string; value: unknown }> {
  const { method = "GET", query = {}, body, bearer, signal } = options;
  const url = new URL(connection.gateway + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const headers = new Headers({ accept: "application/json" });
  if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  const init: RequestInit = { method, headers, redirect: "error" };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal !== undefined) init.signal = signal;
  const { response, text } = await fetched(connection, url, init);
  const value = parse(text);
  if (response.ok && !isErrorBody(value)) return { text, value };
  throw refusalOf(url.origin + url.pathname, response, text);
}

/** The error of an answer, by its text: the gateway's, or `unreachable` for what is not a gateway's answer. */
export function refusalOf(url: string, response: Response, text: string): RefusedError | ClientError {
  const value = parse(text);
  if (isErrorBody(value)) return new RefusedError(value, response);
  return new ClientError("unreachable", `${url} answered ${response.status}, and not as a gateway does.`);
}

async function fetched(
  { fetch }: Connection,
  url: URL,
  init: RequestInit,
): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(url.href, init);
    return { response, text: await response.text() };
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ClientError("unreachable", `${url.origin} does not answer. Check the gateway's URL.`, error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isErrorBody(value: unknown): value is ErrorBody {
  const { error } = (value ?? {}) as { error?: { code?: unknown; message?: unknown } };
  return typeof error?.code === "string" && typeof error.message === "string";
}
