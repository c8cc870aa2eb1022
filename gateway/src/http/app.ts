import { GatewayError } from "@inference/protocol/errors";
import { Hono } from "hono";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext, GatewayEnv, Handler, HostBindings } from "./context.ts";
import { errorResponse } from "./errors.ts";
import { everyRequest } from "./every-request.ts";
import { type Route, routes } from "./routes.ts";

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
  app.notFound(asEvery(notFound));
  return app;
}

/** The handler of a path: the one of its methods that is asked for. */
function byMethod(gateway: Gateway, ofPath: readonly Route[]): Handler {
  const handlers = new Map(ofPath.map((route) => [route.method as string, counted(gateway, route)]));
  const otherwise = methodNotAllowed([...handlers.keys()]);
  return function byMethod(context) {
    const { method } = context.req;
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

function notFound(context: GatewayContext): Response {
  const message = `There is no ${context.req.method} ${context.req.path} here.`;
  return errorResponse(context, new GatewayError({ code: "not_found", message }));
}

function methodNotAllowed(allowed: readonly string[]): Handler {
  return function methodNotAllowed(context) {
    const message = `${context.req.path} takes ${allowed.join(", ")}.`;
    const response = errorResponse(context, new GatewayError({ code: "method_not_allowed", message }));
    response.headers.set("allow", allowed.join(", "));
    return response;
  };
}
