import { GatewayError } from "@inference/protocol/errors";
import { Hono } from "hono";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext, GatewayEnv, HostBindings } from "./context.ts";
import { errorResponse } from "./errors.ts";
import { everyRequest } from "./middleware.ts";
import { routes } from "./routes.ts";

export type App = { fetch(request: Request, host?: HostBindings): Response | Promise<Response> };

/** The gateway as an HTTP service. Whatever is not in the table of routes is 404, also where the provider has it. */
export function makeApp(gateway: Gateway): App {
  const app = new Hono<GatewayEnv>({ strict: false });
  app.use(everyRequest(gateway));
  const methods = new Map<string, string[]>();
  for (const { method, path, handle } of routes) {
    const route = gateway.metrics.route(`${method} ${path.replace(/:(\w+)(\{[^}]*\})?/g, "{$1}")}`);
    app.on(method, path, (context) => {
      context.set("route", route);
      return handle(context);
    });
    methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  for (const [path, allowed] of methods) app.all(path, methodNotAllowed(allowed));
  app.notFound((context) => {
    const message = `There is no ${context.req.method} ${context.req.path} here.`;
    return errorResponse(context, new GatewayError({ code: "not_found", message }));
  });
  app.onError((error, context) => errorResponse(context, error));
  return app;
}

function methodNotAllowed(allowed: readonly string[]) {
  return function methodNotAllowed(context: GatewayContext): Response {
    const message = `${context.req.path} takes ${allowed.join(", ")}.`;
    const response = errorResponse(context, new GatewayError({ code: "method_not_allowed", message }));
    response.headers.set("allow", allowed.join(", "));
    return response;
  };
}
