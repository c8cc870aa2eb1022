import { GatewayError } from "@inference/protocol/errors";
import { Hono } from "hono";
import type { Gateway } from "./gateway.ts";
import type { App, GatewayContext, GatewayEnv, Handler } from "./http/context.ts";
import { errorResponse } from "./http/errors.ts";
import { everyRequest } from "./http/every-request.ts";
import { endpoints } from "./routes/all.ts";
import { dashboardAt } from "./routes/dashboard-page.ts";
import type { Endpoint } from "./routes/endpoint.ts";

export type { App };

/**
 * The gateway as an HTTP service. A path that no endpoint has is 404, even if the provider has it; a browser gets the
 * dashboard there. Each path has one handler and no middleware, so the router builds no chain of handlers.
 */
export function makeApp(gateway: Gateway): App {
  const app = new Hono<GatewayEnv>({ strict: false });
  const asEvery = everyRequest(gateway);
  for (const [pattern, handle] of handlersByPattern(gateway, app)) app.all(pattern, asEvery(handle));
  app.notFound(asEvery((context) => dashboardAt(context) ?? notFound(context)));
  return app;
}

/** Characters of a path that an error message shows. */
const MAX_SHOWN = 200;

type Served = { path: string; endpoint: Endpoint };

/** One handler for each path, by the path's pattern in the router. */
function handlersByPattern(gateway: Gateway, app: App): Map<string, Handler> {
  const served = endpoints.flatMap((endpoint) => endpoint.paths.map((path): Served => ({ path, endpoint })));
  const byPath = Map.groupBy(served, ({ path }) => path);
  const handlers = new Map([...byPath].map(([path, here]) => [path, byMethod(gateway, here, app)]));
  const open = new Set(served.filter(({ endpoint }) => endpoint.takesRest).map(({ path }) => path));
  const paths = [...handlers.keys()];
  const patterns = new Map<string, Handler>();
  for (const [path, handle] of handlers) {
    if (paths.some((other) => isMatchedBy(path, other, open))) continue;
    const below = new Map([...handlers].filter(([other]) => isMatchedBy(other, path, open)));
    const pattern = path.replace(PARAMETER, open.has(path) ? ":$1{.+}" : ":$1");
    patterns.set(pattern, below.size === 0 ? handle : orBelow(path, handle, below));
  }
  return patterns;
}

const PARAMETER = /\{(\w+)\}/g;

/**
 * The handler of a path whose last parameter also matches the ends of other paths, which it serves as well: the router
 * could tell them apart only with a slower kind of pattern.
 */
function orBelow(path: string, handle: Handler, below: ReadonlyMap<string, Handler>): Handler {
  const start = path.slice(0, path.lastIndexOf("{"));
  const parameter = path.slice(start.length + 1, -1);
  return (context) => (below.get(`${start}${context.req.param(parameter)}`) ?? handle)(context);
}

/** Whether the last parameter of `other` matches the end of this path; one that takes the rest also over slashes. */
function isMatchedBy(path: string, other: string, open: ReadonlySet<string>): boolean {
  if (path === other || !other.endsWith("}")) return false;
  const start = other.slice(0, other.lastIndexOf("{"));
  return path.startsWith(start) && (open.has(other) || !path.slice(start.length).includes("/"));
}

/** The handler of a path, which calls the handler of the requested method. */
function byMethod(gateway: Gateway, here: readonly Served[], app: App): Handler {
  const handlers = new Map(here.map((served) => [served.endpoint.method as string, counted(gateway, served, app)]));
  const otherwise = methodNotAllowed([...handlers.keys()]);
  return function byMethod(context) {
    const { method } = context.req;
    const target = context.env?.target ?? "";
    if (DOT_SEGMENT.test(target)) return notFound(context, target.split("?", 1)[0]);
    const handle = handlers.get(method === "HEAD" ? "GET" : method) ?? otherwise;
    return handle(context);
  };
}

/** Requests are counted by path: an endpoint that is served at two paths has two counters. */
function counted(gateway: Gateway, { path, endpoint }: Served, app: App): Handler {
  const route = gateway.metrics.route(`${endpoint.method} ${path}`);
  return function counted(context) {
    context.set("route", route);
    return endpoint.handle(context, endpoints, app);
  };
}

/** Dot segments are not resolved: a path that has some is not the path that it resolves to. */
const DOT_SEGMENT = /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;

function notFound(context: GatewayContext, path = context.req.path): Response {
  const instead = path.endsWith("/completions") ? " For text, send `messages` to /v1/chat/completions." : "";
  const message = `${context.req.method} ${path.slice(0, MAX_SHOWN)} does not exist.${instead}`;
  return errorResponse(context, new GatewayError({ code: "not_found", message }));
}

function methodNotAllowed(allowed: readonly string[]): Handler {
  return function methodNotAllowed(context) {
    const message = `${context.req.path} accepts ${allowed.join(", ")}.`;
    const response = errorResponse(context, new GatewayError({ code: "method_not_allowed", message }));
    response.headers.set("allow", allowed.join(", "));
    return response;
  };
}
