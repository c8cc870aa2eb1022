import { openChain } from "@inference/gateway/test/fund";
import type { HostUnderTest, StartHost } from "@inference/gateway/test/host";
import { type Edge, startEdge } from "./edge.ts";

/** One process for all suites, which have it one after the other. */
let shared: Edge | undefined;
const asLaunched = { hurry: 1, provider: "" };
/** The settings of each running edge. */
const settings = [asLaunched];

/** This host, as the suites know it which every host passes. */
export const startEdgeHost: StartHost = async ({ provider = "", hurry = 1, fresh = false, failures = false } = {}) => {
  if (fresh) {
    const edge = await launch({ failures });
    await edge.set({ hurry });
    return edge;
  }
  shared ??= await launch();
  const edge = shared;
  if (settings.length === 1) edge.simulator.simulator.reset();
  settings.push({ hurry, provider });
  await edge.set({ hurry, provider });
  return Object.assign(Object.create(edge) as HostUnderTest, {
    async stop() {
      settings.pop();
      await edge.set(settings.at(-1) ?? asLaunched);
    },
  });
};

export async function stopEdgeHost(): Promise<void> {
  await shared?.stop();
}

async function launch({ failures = false } = {}): Promise<Edge> {
  const edge = await startEdge(
    {
      UPSTREAM_BLOCKED_HEADER: "x-venice-is-content-violation",
      RECEIPT_RETENTION_DAYS: "30",
      WEBHOOK_TARGETS: "local",
      ...(failures ? { UPSTREAM_FAILURES: "18" } : {}),
    },
    { ceilingNanoUsd: 1_000_000_000_000 },
  );
  await openChain(edge.put);
  // The start itself takes the time it takes.
  await fetch(`${edge.url}/api/v1/models`);
  return edge;
}
