import { served } from "./portkey-server.ts";

// Portkey's npm package holds its app as it starts on Node. This is the app inside it on workerd, which it knows by
// name, as its own Worker is: the bundler puts `portkey-server.ts` where the app asks for a server.

let starting: Promise<unknown> | undefined;

export default {
  async fetch(request: Request, env: unknown, event: unknown): Promise<Response> {
    // Its module begins with a timer, which workerd allows within a request only, and goes on for a second after.
    starting ??= import("@portkey-ai/gateway/build/start-server.js" as string);
    const app = await Promise.race([served, starting.then(() => served)]);
    return app(request, env, event);
  },
};
