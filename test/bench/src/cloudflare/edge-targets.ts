import { bundleWorker } from "@inference/host-cloudflare/local/bundle";
import { realDirectory } from "../real-directory.ts";
import type { Target } from "../target.ts";
import { completions, portkey, portkeyHeaders } from "../targets.ts";
import { ACCOUNTS, edgeGateway, edgeGatewayInMemory, startStoringWorker } from "./edge-gateway-target.ts";
import { startPlainWorker } from "./plain-worker.ts";
import { bundlePortkey } from "./portkey-bundle.ts";

/** What everything at the edge is divided by. */
export const bareWorker = plainTarget("bare Worker", "bare-worker.ts");

/** What it costs to look at a stream, whoever does. */
const bareRelay = plainTarget("bare relay", "relay-worker.ts");

function plainTarget(name: string, entry: string): Target {
  return {
    name,
    ours: false,
    missing: async () => undefined,
    async start(upstreamOrigin) {
      const code = await bundleWorker(new URL(entry, import.meta.url));
      return {
        ...(await startPlainWorker(code, { UPSTREAM: upstreamOrigin })),
        path: completions,
        headers: [{}],
      };
    },
  };
}

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

/** What durable objects by themselves cost, with no rule in them. */
const bareObjects: Target = {
  name: "bare objects",
  ours: false,
  missing: async () => undefined,
  async start(upstreamOrigin) {
    const folder = await realDirectory("edge-objects-");
    const entry = new URL("objects-worker.ts", import.meta.url);
    return {
      ...(await startStoringWorker({ folder, settings: { UPSTREAM: upstreamOrigin }, entry })),
      headers: Array.from({ length: ACCOUNTS }, (_, account) => ({ authorization: `Bearer ${account}` })),
    };
  },
};

/** All that are compared on workerd, yardsticks first. */
export const edgeTargets: readonly Target[] = [
  bareWorker,
  bareRelay,
  bareObjects,
  portkeyWorker,
  edgeGateway,
  edgeGatewayInMemory,
];
