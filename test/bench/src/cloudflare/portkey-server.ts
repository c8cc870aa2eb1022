/** What Portkey starts instead of a server: its app is kept. */
type App = (request: Request, env: unknown, event: unknown) => Promise<Response>;

const { promise, resolve } = Promise.withResolvers<App>();

export const served: Promise<App> = promise;

/** In place of `@hono/node-server`. */
export function serve({ fetch }: { fetch: App }): void {
  resolve(fetch);
}

/** In place of `@hono/node-ws`: web sockets are not compared. */
export function createNodeWebSocket() {
  return {
    injectWebSocket: () => undefined,
    upgradeWebSocket: () => (_context: unknown, next: () => Promise<void>) => next(),
  };
}
