import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { zeroHash } from "viem";
import { contractOn, inBatches, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";
import type { Found, TaskFinder } from "./task.ts";

/** How long a message may wait for its cover, in seconds. */
const WAITING_LATE = 3_600n;

/** Messages that arrived without cover: delivers them when they have it. */
export function findDeliveries(chain: KeeperChain): TaskFinder {
  const bridge = { address: contractOn(chain, "tokenBridge"), abi: tokenBridgeAbi } as const;
  const arrivals = chain.events.track(
    { ...bridge, eventName: "Waiting" },
    {
      keys: ({ guid }) => [guid],
      value: ({ guid, srcEid, message }, block) => {
        return { guid, srcEid, message: { ...message, amount: String(message.amount) }, block };
      },
    },
  );

  async function find(): Promise<Found> {
    const found: Required<Found> = { tasks: [], delays: [] };
    const open = [...arrivals.open().values()];
    const contracts = open.map(({ guid }) => ({ ...bridge, functionName: "waiting", args: [guid] }) as const);
    const digests = await chain.reader.multicall({ ...inBatches, contracts });
    const isWaiting = (_: unknown, index: number): boolean => digests[index] !== zeroHash;
    arrivals.done(open.filter((_, index) => !isWaiting(_, index)).map(({ guid }) => guid));
    for (const { guid, srcEid, message, block } of open.filter(isWaiting)) {
      const args = [guid, srcEid, { ...message, amount: BigInt(message.amount) }];
      const call = { ...bridge, functionName: "deliver", args };
      found.tasks.push({ name: "deliver", chain, call, notDue: ["NotCovered", "NotNext", "NotWaiting", "Paused"] });
      const ageSeconds = (await timeOn(chain)) - (await timeOfBlock(chain, block));
      if (ageSeconds > WAITING_LATE) found.delays.push({ what: "waiting", chain: chain.settings.name, ageSeconds });
    }
    return found;
  }
  return { chain, find };
}
