/** What the Workers runtime provides as a module, as far as it is used here. */
declare module "cloudflare:workers" {
  import type { DurableObjectState, ExecutionContext } from "@cloudflare/workers-types";
  export abstract class DurableObject<Env = unknown> {
    protected ctx: DurableObjectState;
    protected env: Env;
    constructor(ctx: DurableObjectState, env: Env);
  }
  export abstract class WorkerEntrypoint<Env = unknown> {
    protected ctx: ExecutionContext;
    protected env: Env;
    constructor(ctx: ExecutionContext, env: Env);
  }
  /** Keeps the event running that the code belongs to which calls this. */
  export function waitUntil(work: Promise<unknown>): void;
}

/** What the dashboard's build has left; null if it failed. */
declare module "@inference/dashboard/site.json" {
  const site: import("@inference/gateway/environment").DashboardFiles | null;
  export default site;
}
