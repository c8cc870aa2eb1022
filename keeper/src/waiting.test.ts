import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { startNodeProxy } from "@inference/devnet/relayer/testing/node-proxy";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { getAbiItem, toFunctionSelector, zeroHash } from "viem";
import { connectKeeperChain } from "./keeper-chain.ts";
import { activateFromAfar, keeper, startThreeChains } from "./testing/three-chains.ts";
import { waitingDuty } from "./waiting.ts";

/** So many blocks lower, nothing is read anew. */
const DEPTH_BLOCKS = 64;
const WAITING = toFunctionSelector(getAbiItem({ abi: tokenBridgeAbi, name: "waiting" }));

test("a message that a node behind the one that told of it denies is delivered; one that is over is asked for no more", async () => {
  await using chains = await startThreeChains();
  const { primary, secondary1 } = chains.sites;
  await using node = await startNodeProxy(primary.chain.rpcUrl);
  let asked = 0;
  let isBehind = true;
  node.lie = ({ method, params }, answer) => {
    if (method !== "eth_call" || !JSON.stringify(params).includes(WAITING)) return answer;
    asked += 1;
    return isBehind ? { ...answer, result: zeroHash } : answer;
  };
  const [settings] = chains.settings().chains;
  ok(settings !== undefined);
  const duty = waitingDuty(connectKeeperChain({ ...settings, rpcUrl: node.url }, keeper));
  await activateFromAfar(primary, { eid: secondary1.eid, amount: 1n });

  equal((await duty()).chores.length, 0);
  isBehind = false;
  equal((await duty()).chores.length, 1);
  await primary.client.mine({ blocks: DEPTH_BLOCKS });
  equal((await duty()).chores.length, 1);

  isBehind = true;
  await duty();
  equal(asked, 4);
  await duty();
  equal(asked, 4);
});
