/** The app that Portkey gives to this module in place of a server. */
type App = (request: Request, env: unknown, event: unknown) => Promise<Response>;

const { promise, resolve } = Promise.withResolvers<App>();

export const served: Promise<App> = promise;

/** Stands in for `@hono/node-server`. */
export function serve({ fetch }: { fetch: App }): void {
  resolve(fetch);
}

/** Stands in for `@hono/node-ws`, because web sockets are not compared. */
export function createNodeWebSocket() {
  return {
    injectWebSocket: () => undefined,
    upgradeWebSocket: () => (_context: unknown, next: () => Promise<void>) => next(),
  };
}
