import { bundleWorker } from "@inference/host-cloudflare/local/bundle";
import type { Target } from "../target.ts";
import { completions, portkey, portkeyHeaders } from "../targets.ts";
import { edgeGateway } from "./edge-gateway-target.ts";
import { startPlainWorker } from "./plain-worker.ts";
import { bundlePortkey } from "./portkey-bundle.ts";

/** The divisor of all figures at the edge. */
export const bareWorker: Target = {
  name: "bare Worker",
  ours: false,
  missing: async () => undefined,
  async start(upstreamOrigin) {
    const code = await bundleWorker(new URL("bare-worker.ts", import.meta.url));
    return { ...(await startPlainWorker(code, { UPSTREAM: upstreamOrigin })), path: completions, headers: [{}] };
  },
};

/** Portkey's app as a Worker: it passes through, and keeps no account. */
export const portkeyWorker: Target = {
  ...portkey,
  name: "Portkey Worker",
  async start(upstreamOrigin) {
    return {
      ...(await startPlainWorker(await bundlePortkey(), { NODE_ENV: "production" })),
      path: "/v1/chat/completions",
      headers: [portkeyHeaders(upstreamOrigin)],
    };
  },
};

/** The compared targets on workerd, yardsticks first. */
export const edgeTargets: readonly Target[] = [bareWorker, portkeyWorker, edgeGateway];
