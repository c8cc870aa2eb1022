import type { Operation } from "../docs/operation.ts";
import type { App, GatewayContext } from "../http/context.ts";
import type { InferenceRoute } from "../inference/request.ts";
import type { BodyParser } from "../inference/requests/body-job.ts";
import { errorsOf } from "./endpoint-errors.ts";

/** One method of one path: its documentation, its schemas and its handler. */
export type Endpoint = Operation & {
  /** The paths that it is served at, with parameters in braces. The first is `path`, which is documented. */
  paths: readonly string[];
  /** The last parameter may contain slashes. */
  takesRest?: boolean;
  /** Makes of a body what the handler needs. It runs in another thread for a large body. */
  parser?: BodyParser<unknown>;
  /** The facts of a metered endpoint that the request path needs. */
  metered?: InferenceRoute;
  handle: EndpointHandler;
};

/**
 * @param endpoints All endpoints, for those that document them.
 * @param app Serves a request of an endpoint to another endpoint, as if the client had sent it.
 */
export type EndpointHandler = (
  context: GatewayContext,
  endpoints: readonly Endpoint[],
  app: App,
) => Response | Promise<Response>;

/** Inference and its clients' reads of their account are the same under both prefixes. */
export const apiPrefixes = ["/api/v1", "/v1"] as const;

type Declaration = Omit<Endpoint, "paths" | "method" | "credentials" | "errors"> & {
  /** Prefixes that `path` is served under; none if absent. The first is documented. */
  prefixes?: readonly [string, ...string[]];
  /** `GET` if absent. */
  method?: Endpoint["method"];
  /** Anyone may ask if absent. */
  credentials?: Endpoint["credentials"];
  /** Those that its credentials and its body do not imply. */
  errors?: Endpoint["errors"];
};

/** Declares an endpoint. The list in `all.ts` makes it served and documented. */
export function endpoint(declaration: Declaration): Endpoint {
  const { prefixes = [""], path, method = "GET", credentials = [], errors = [], ...rest } = declaration;
  return {
    ...rest,
    method,
    credentials,
    errors: errorsOf(credentials, rest.body !== undefined, errors),
    path: prefixes[0] + path,
    paths: prefixes.map((prefix) => prefix + path),
  };
}
