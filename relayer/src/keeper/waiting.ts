import { tokenBridge } from "@inference/contracts/generated/token-bridge";
import { zeroHash } from "viem";
import type { Duty, Survey } from "./chore.ts";
import { createEventReader } from "./event-reader.ts";
import { contractOn, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";

/** How long a message may wait for its cover, in seconds. */
const WAITING_LATE = 3_600n;

/** Messages that arrived without cover: delivers them when they have it. */
export function waitingDuty(chain: KeeperChain): Duty {
  const bridge = { address: contractOn(chain, "tokenBridge"), abi: tokenBridge.abi } as const;
  const arrivals = createEventReader(chain, { ...bridge, eventName: "Waiting" });
  const over = new Set<string>();

  return async () => {
    const survey: Survey = { chores: [], delays: [] };
    for (const { args, blockNumber } of await arrivals()) {
      const { guid, srcEid, message } = args;
      if (over.has(guid)) continue;
      const digest = await chain.reader.readContract({ ...bridge, functionName: "waiting", args: [guid] });
      if (digest === zeroHash) {
        over.add(guid);
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
