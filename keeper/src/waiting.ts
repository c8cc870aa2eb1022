import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { zeroHash } from "viem";
import type { Duty, Survey } from "./chore.ts";
import { createEventReader } from "./event-reader.ts";
import { contractOn, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";

/** How long a message may wait for its cover, in seconds. */
const WAITING_LATE = 3_600n;

/** Messages that arrived without cover: delivers them when they have it. */
export function waitingDuty(chain: KeeperChain): Duty {
  const bridge = { address: contractOn(chain, "tokenBridge"), abi: tokenBridgeAbi } as const;
  const arrivals = createEventReader(chain, { ...bridge, eventName: "Waiting" });
  /** Events as they were read. One of late is read anew each time, and asked about: a node may be behind its block. */
  const over = new WeakSet<object>();

  return async () => {
    const survey: Survey = { chores: [], delays: [] };
    for (const arrival of await arrivals()) {
      if (over.has(arrival)) continue;
      const { args, blockNumber } = arrival;
      const { guid, srcEid, message } = args;
      const digest = await chain.reader.readContract({ ...bridge, functionName: "waiting", args: [guid] });
      if (digest === zeroHash) {
        over.add(arrival);
        continue;
      }
      const call = { ...bridge, functionName: "deliver", args: [guid, srcEid, message] };
      survey.chores.push({ name: "deliver", chain, call, notDue: ["NotCovered", "NotWaiting", "Paused"] });
      const ageSeconds = (await timeOn(chain)) - (await timeOfBlock(chain, blockNumber));
      if (ageSeconds > WAITING_LATE) {
        survey.delays.push({ what: "waiting", chain: chain.settings.name, ageSeconds });
      }
    }
    return survey;
  };
}
