import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { errorBody, errorTable, fail, GatewayError } from "@inference/protocol/errors";
import * as z from "zod";
import type { Log } from "../log.ts";
import { reasonOf } from "../log.ts";

/** A route: the value that it answers with, for what was sent. */
export type RelayRoutes = {
  quotes(): Promise<unknown>;
  permitNonce(chainId: number, owner: string): Promise<unknown>;
  topUp(body: unknown): Promise<unknown>;
  payment(body: unknown): Promise<unknown>;
  find(id: string): Promise<unknown>;
};

export type RelayServer = { port: number; close(): Promise<void> };

const MAX_BODY_BYTES = 64 * 1024;

/** Serves the gateway, which knows the secret, and nobody else. Errors have the gateway's own form. */
export async function startRelayServer(
  routes: RelayRoutes,
  { host, port, secret, log }: { host: string; port: number; secret: string; log: Log },
): Promise<RelayServer> {
  const wanted = digest(`Bearer ${secret}`);
  const server = createServer(async (request, response) => {
    let status = 200;
    let body: unknown;
    try {
      if (!timingSafeEqual(digest(request.headers.authorization ?? ""), wanted)) {
        fail("missing_credentials", "The relay serves its gateway only: RELAY_SECRET is not the same on both sides.");
      }
      body = await answer(routes, request);
    } catch (error) {
      const detail = detailOf(error, log);
      status = errorTable[detail.code].status;
      body = errorBody(detail);
    }
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

async function answer(routes: RelayRoutes, request: IncomingMessage): Promise<unknown> {
  const [, first = "", second = "", third = "", ...rest] = (request.url ?? "").split("/");
  const route = `${request.method} ${first}`;
  if (rest.length === 0 && route === "GET quotes") return routes.quotes();
  if (rest.length === 0 && route === "GET permit-nonce") return routes.permitNonce(Number(second), third);
  if (rest.length === 0 && route === "GET payments") return routes.find(second);
  if (route === "POST top-ups") return routes.topUp(await readJson(request));
  if (route === "POST payments") return routes.payment(await readJson(request));
  return fail("not_found", "The relay has no such route: gateway and keeper may be of different versions.");
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > MAX_BODY_BYTES) fail("request_too_large", `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return fail("invalid_request", "The body is no JSON.");
  }
}

function detailOf(error: unknown, log: Log): GatewayError["detail"] {
  if (error instanceof GatewayError) return error.detail;
  if (error instanceof z.ZodError) return { code: "invalid_request", message: z.prettifyError(error) };
  log("info", "payment not checked", { reason: reasonOf(error) });
  const message =
    "The chain cannot be read at the moment, so the payment was not checked. Nothing was sent. Try again.";
  return { code: "chain_unavailable", message, retryAfterS: 2 };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
