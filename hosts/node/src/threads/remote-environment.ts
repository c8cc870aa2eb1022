import type { Environment, KeyValueStore } from "@inference/gateway/environment";
import type { LedgerClient } from "@inference/ledger/client";
import type { Reply } from "@inference/ledger/commands";
import type { ChainFollowing, ChainReader } from "@inference/protocol/chain-reader";
import type { DollarView } from "@inference/protocol/dollars";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import type { Channel } from "./channel.ts";

/**
 * What the main thread knows and an HTTP thread answers from at once. The main thread sends it again when it has
 * changed, so it is at most `STANDING_MS` old.
 */
export type Standing = {
  writable: boolean;
  behind: string | null;
  following: ChainFollowing;
  settler: SettlerStatus | undefined;
  dollars: DollarView | null;
};
export const STANDING_MS = 250;

export function standingOf({ ledger, behind, chain, settler, dollars }: Environment): Standing {
  return {
    writable: ledger.writable,
    behind: behind?.() ?? null,
    following: chain.following(),
    settler: settler?.(),
    dollars: dollars?.() ?? null,
  };
}

/** The parts of an HTTP thread's environment that are in the main thread. */
export function remoteEnvironment(
  channel: Channel,
  standing: () => Standing,
): Omit<Environment, "clock" | "random" | "timers" | "upstream" | "background" | "dashboard"> {
  return {
    ledger: remoteLedger(channel, standing),
    keyValue: remoteKeyValue(channel),
    chain: remoteChain(channel, standing),
    behind: () => standing().behind,
    settler: () => standing().settler,
    dollars: () => standing().dollars,
    metrics: () => channel.call("metrics"),
    log: (level, event, fields) => channel.tell("log", level, event, fields),
  };
}

/**
 * The ledger in the main thread. A reservation is one call, and one commit. Of other sagas each step is a call, as at
 * the edge, and those of requests have one step.
 */
function remoteLedger(channel: Channel, standing: () => Standing): LedgerClient {
  return {
    get writable() {
      return standing().writable;
    },
    async run(saga, options = {}) {
      const steps = saga();
      let step = steps.next();
      while (!step.done) {
        const { partition, command } = step.value;
        let reply: Reply;
        try {
          reply = await channel.call("execute", partition, command, options);
        } catch (error) {
          // The saga undoes what it did, and throws the error again.
          step = steps.throw(error);
          continue;
        }
        step = steps.next(reply);
      }
      return step.value;
    },
    reserve: (reservation) => channel.call("reserve", reservation),
    read: (partition, query) => channel.call("read", partition, query),
    lapsedHolds: (at, limit) => channel.call("lapsedHolds", at, limit),
    overdue: (table, before, page) => channel.call("overdue", table, before, page),
  };
}

function remoteKeyValue(channel: Channel): KeyValueStore {
  return {
    get: (key) => channel.call("get", key),
    put: (key, value, options) => channel.call("put", key, value, options),
    delete: (key) => channel.call("delete", key),
    list: (prefix, limit) => channel.call("list", prefix, limit),
  };
}

function remoteChain(channel: Channel, standing: () => Standing): ChainReader {
  return {
    agentOwner: (agentToken) => channel.call("agentOwner", agentToken),
    agentSeller: (agentToken) => channel.call("agentSeller", agentToken),
    capacityToday: (identity) => channel.call("capacityToday", identity),
    acceptsSignature: (query) => channel.call("acceptsSignature", query),
    books: () => channel.call("books"),
    pendingActivations: (account) => channel.call("pendingActivations", account),
    following: () => standing().following,
  };
}
