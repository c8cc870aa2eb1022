import type { Address, Hex } from "viem";
import { type DocumentedErrors, readDocumentedErrors } from "./documented-errors.ts";
import { type Front, frontNamed } from "./front.ts";
import { sharedGateway } from "./testing/shared-gateway.ts";

/** The gateway that is held against the rules: any that runs, with the provider simulator behind it. */
export type Target = {
  url: string;
  /** Private keys. Their accounts have credit: 20 dollars each do for `npm test`. */
  wallets: readonly Hex[];
  /** An agent token that the first wallet owns; null where there is none. */
  agentToken: Address | null;
  /** The program in front of the gateway; null if every answer is the gateway's own. */
  front: Front | null;
  documentedErrors: DocumentedErrors;
  /** Undoes changes on a gateway that goes on after the tests. */
  undo: (() => Promise<void>)[];
  close(): Promise<void>;
};

/** The one that the environment names (see the README), else one in a process of its own. */
export async function openTarget(): Promise<Target> {
  const { CONFORMANCE_URL: url, CONFORMANCE_WALLETS: wallets, CONFORMANCE_AGENT: agent } = process.env;
  const { CONFORMANCE_FRONT: front } = process.env;
  if (url === undefined) return { ...(await sharedGateway()), front: null, undo: [], close: async () => undefined };
  if (wallets === undefined) throw new Error("CONFORMANCE_WALLETS is missing: private keys, with commas between them.");
  const undo: Target["undo"] = [];
  return {
    url: url.replace(/\/$/, ""),
    documentedErrors: await readDocumentedErrors(url.replace(/\/$/, "")),
    wallets: wallets.split(",") as Hex[],
    agentToken: (agent as Address | undefined) ?? null,
    front: front === undefined ? null : frontNamed(front),
    undo,
    async close() {
      for (const step of undo) await step();
    },
  };
}
