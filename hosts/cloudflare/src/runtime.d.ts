/** The modules of the Workers runtime, as far as this host uses them. */
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
  /** Keeps the event of the calling code running. */
  export function waitUntil(work: Promise<unknown>): void;
}

/** The dashboard's page without its assets, which Cloudflare serves; null if its build failed. */
declare module "@inference/dashboard/page.json" {
  const site: import("@inference/gateway/environment").DashboardFiles | null;
  export default site;
}
