import type { Bindings } from "@inference/host-cloudflare/bindings";
import { makeEdgeLedger } from "@inference/host-cloudflare/ledger";
import type { Step } from "@inference/ledger/saga";

export { ChainObject } from "@inference/host-cloudflare/chain-object";
export { PartitionObject } from "@inference/host-cloudflare/partition-object";

/** Runs lists of commands in a gateway's objects, each list in its order, the lists in parallel. */
export default {
  async fetch(request: Request, bindings: Bindings): Promise<Response> {
    if (request.method === "POST") await writeBooks(bindings, (await request.json()) as Step[][]);
    return new Response(null, { status: 204 });
  },
};

/** Throws if a partition cannot be reached. Replies are not read. */
export async function writeBooks(bindings: Bindings, lists: readonly (readonly Step[])[]): Promise<void> {
  const ledger = makeEdgeLedger(bindings, { background: (work) => void work });
  const write = (steps: readonly Step[]) =>
    ledger.run(function* () {
      for (const step of steps) yield step;
    });
  await Promise.all(lists.map(write));
}
