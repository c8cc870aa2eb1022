import { GatewayError } from "@inference/protocol/errors";
import { Hono } from "hono";
import type { Gateway } from "./gateway.ts";
import type { GatewayContext, GatewayEnv, Handler, HostBindings } from "./http/context.ts";
import { errorResponse } from "./http/errors.ts";
import { everyRequest } from "./http/every-request.ts";
import { type Route, routes } from "./routes/route-table.ts";

export type App = { fetch(request: Request, host?: HostBindings): Response | Promise<Response> };

/**
 * The gateway as an HTTP service. Whatever is not in the table of routes is 404, also where the provider has it. Each
 * path has one handler and no middleware: for a single handler the router makes no chain.
 */
export function makeApp(gateway: Gateway): App {
  const app = new Hono<GatewayEnv>({ strict: false });
  const asEvery = everyRequest(gateway);
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    app.all(path, asEvery(byMethod(gateway, ofPath)));
  }
  app.notFound(asEvery((context) => notFound(context)));
  return app;
}

/** Of a path, in a message that says that it is not there. */
const MAX_SHOWN = 200;

/** The handler of a path: the one of its methods that is asked for. */
function byMethod(gateway: Gateway, ofPath: readonly Route[]): Handler {
  const handlers = new Map(ofPath.map((route) => [route.method as string, counted(gateway, route)]));
  const otherwise = methodNotAllowed([...handlers.keys()]);
  return function byMethod(context) {
    const { method } = context.req;
    const target = context.env?.target ?? "";
    if (DOT_SEGMENT.test(target)) return notFound(context, target.split("?", 1)[0]);
    const handle = handlers.get(method === "HEAD" ? "GET" : method) ?? otherwise;
    return handle(context);
  };
}

function counted(gateway: Gateway, { method, path, handle }: Route): Handler {
  const route = gateway.metrics.route(`${method} ${path.replace(/:(\w+)(\{[^}]*\})?/g, "{$1}")}`);
  return function counted(context) {
    context.set("route", route);
    return handle(context);
  };
}

/** A path is one of ours only as it is written, and not by what it can be shortened to. */
const DOT_SEGMENT = /^[^?#]*\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;

function notFound(context: GatewayContext, path = context.req.path): Response {
  const message = `${context.req.method} ${path.slice(0, MAX_SHOWN)} does not exist.`;
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
