import type { Operation } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import type { InferenceRoute } from "../inference/inference-route.ts";

/** One method of one path: what is documented of it, the schemas that check it, and what answers it. */
export type Endpoint = Operation & {
  /** Where it is served, with parameters in braces. The first one is `path`, the documented one. */
  paths: readonly string[];
  /** The last parameter may contain slashes. */
  takesRest?: boolean;
  /** How the request path serves it, where it costs money. */
  metered?: InferenceRoute;
  handle: EndpointHandler;
};

/** @param endpoints The list that the gateway serves, for the endpoints that describe it. */
export type EndpointHandler = (context: GatewayContext, endpoints: readonly Endpoint[]) => Response | Promise<Response>;

/** The inference API is the same under both prefixes. */
export const inferencePrefixes = ["/api/v1", "/v1"] as const;

type Declaration = Omit<Endpoint, "paths"> & {
  /** Where `path` is served; only at `path` itself if absent. The first prefix is the documented one. */
  prefixes?: readonly [string, ...string[]];
};

/** Declares an endpoint. It is served and documented once it is in the list of `all.ts`. */
export function endpoint({ prefixes = [""], path, ...declared }: Declaration): Endpoint {
  const [documented] = prefixes;
  return { ...declared, path: documented + path, paths: prefixes.map((prefix) => prefix + path) };
}
