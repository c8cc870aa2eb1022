import assert from "node:assert/strict";
import type { HostUnderTest, StartHost } from "@inference/gateway/test/settlement/host-under-test";
import { accountPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Edge, startEdge } from "./edge.ts";

/** This host, as the suites know it which every host passes. */
export const startEdgeHost: StartHost = async ({ provider, hurry } = {}) => {
  const edge = await startEdge({
    UPSTREAM_BLOCKED_HEADER: "x-venice-is-content-violation",
    ...(provider === undefined ? {} : { UPSTREAM_BASE_URL: provider }),
  });
  // The start itself takes the time it takes.
  await fetch(`${edge.url}/api/v1/models`);
  if (hurry !== undefined) await fetch(`${edge.url}/__hurry?times=${hurry}`);
  return hostOf(edge);
};

export function hostOf(edge: Edge): HostUnderTest {
  let accounts = 0;
  let questions = 0;

  async function alerts(event: string, requestId: string): Promise<Record<string, unknown>[]> {
    // What it said before this is here once this is.
    questions += 1;
    const text = `question ${questions}.`;
    await fetch(`${edge.url}/__say?text=${encodeURIComponent(text)}`);
    await eventually(() => assert.ok(edge.said().includes(text), "what it said"));
    return edge
      .said()
      .split("\n")
      .filter((line) => line.includes(`"level":"alert","event":"${event}"`) && line.includes(`"${requestId}"`))
      .map((line) => JSON.parse(line));
  }

  return {
    url: edge.url,
    simulator: edge.simulator,
    async account(balanceNanoUsd) {
      accounts += 1;
      const address: Address = `0x${accounts.toString(16).padStart(40, "0")}`;
      const { key } = await edge.fund(address, { balanceNanoUsd, ceilingNanoUsd: 1_000_000_000_000 });
      return { address, key };
    },
    call: (path, { key, body, signal }) =>
      fetch(`${edge.url}${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${key}`,
          ...(signal === undefined ? {} : edge.leaving(signal)),
        },
        body: JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    balance: (address) => edge.ask(accountPartition(address), { type: "balance", at: Date.now() }),
    read: edge.ask,
    rows: (table, partition) => edge.call(partition, "rows", partition, table) as never,
    usageAlerts: async (requestId) => (await alerts("usage", requestId)).map(({ alert }) => String(alert)),
    modelAlerts: async (requestId) => (await alerts("other_model", requestId)).map(({ answered }) => String(answered)),
    lossAlerts: async (requestId) => (await alerts("loss", requestId)).map(({ lossNanoUsd }) => Number(lossNanoUsd)),
    stop: edge.stop,
  };
}
