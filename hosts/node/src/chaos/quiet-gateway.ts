import { defaultRequestLimits } from "@inference/gateway/config";
import type { Environment } from "@inference/gateway/environment";
import { type Gateway, makeGateway } from "@inference/gateway/gateway";
import { noLimits } from "@inference/gateway/test/no-limits";
import type { LedgerClient } from "@inference/ledger/client";

/** Enough of a gateway for its jobs: no provider, no chain, nobody to answer. An alert but of a loss is an error. */
export function makeQuietGateway(ledger: LedgerClient, clock: { time: number }): Gateway {
  const nothing = (): never => {
    throw new Error("the jobs need no more than a ledger here");
  };
  const environment: Environment = {
    clock: { now: () => clock.time },
    random: { bytes: (length) => new Uint8Array(length) },
    ledger,
    keyValue: { get: async () => null, put: nothing, delete: nothing, list: nothing },
    chain: {
      agentOwner: nothing,
      agentSeller: nothing,
      capacityToday: nothing,
      acceptsSignature: nothing,
      books: nothing,
      pendingActivations: nothing,
      following: nothing,
    },
    upstream: { send: nothing },
    log: (level, event, fields) => {
      if (level === "alert" && event !== "loss") throw new Error(`${event}: ${JSON.stringify(fields)}`);
    },
    background: nothing,
    timers: {
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return { cancel: () => clearTimeout(timer) };
      },
    },
  };
  return makeGateway(
    {
      baseUrl: "http://gateway.test",
      secret: new Uint8Array(32),
      chainIds: [1],
      settlement: { chainId: 1, address: "0x00000000000000000000000000000000000005e7" },
      drainMs: 0,
      heldBodyBytes: 1,
      heldAnswerBytes: 1,
      ceilingBlocks: false,
      ceilingShards: 1,
      request: defaultRequestLimits,
      chains: [],
      operator: noLimits,
      upstream: {
        baseUrl: "http://provider.test",
        apiKey: "none",
        catalogueShape: "auto",
        pricesFile: null,
        aliases: {},
        chatExtras: {},
        chatOutputField: "max_tokens",
        defaultOutputTokens: 32_768,
        blockedHeader: null,
        recordUrl: null,
        recordKey: "",
        adminKey: null,
      },
    },
    environment,
  );
}
