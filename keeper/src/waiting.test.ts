import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { startLiar } from "@inference/chain/testing/liar";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { getAbiItem, toFunctionSelector, zeroHash } from "viem";
import { openDatabase } from "./database.ts";
import { connectKeeperChain } from "./keeper-chain.ts";
import { activateFromAfar, keeper, shareThreeChains } from "./testing/three-chains.ts";
import { findDeliveries } from "./waiting.ts";

/** The confirmations that make an event final. */
const DEPTH_BLOCKS = 64;
const WAITING = toFunctionSelector(getAbiItem({ abi: tokenBridgeAbi, name: "waiting" }));

test("a message that a node behind the one that told of it denies is delivered; one that is over is asked for no more", async () => {
  const chains = await shareThreeChains();
  const { primary, secondary1 } = chains.sites;
  await using node = await startLiar(primary.chain.rpcUrl);
  let asked = 0;
  let isBehind = true;
  node.lie = async ({ method, params }, honest) => {
    if (method !== "eth_call" || !JSON.stringify(params).includes(WAITING.slice(2))) return undefined;
    asked += 1;
    const answer = await honest();
    // The digest is the last word of the batch's answer.
    return isBehind ? { ...answer, result: `${String(answer.result).slice(0, -64)}${zeroHash.slice(2)}` } : answer;
  };
  const [settings] = chains.settings().chains;
  ok(settings !== undefined);
  const database = openDatabase(":memory:");
  const options = { account: keeper, database, now: Date.now, log: () => {} };
  const chain = connectKeeperChain({ ...settings, rpcUrl: node.url }, options);
  const finder = findDeliveries(chain);
  async function tasks(): Promise<number> {
    await chain.events.poll();
    return (await finder.find()).tasks.length;
  }
  await activateFromAfar(primary, { eid: secondary1.eid, amount: 1n });

  equal(await tasks(), 0);
  isBehind = false;
  equal(await tasks(), 1);
  await primary.client.mine({ blocks: DEPTH_BLOCKS });
  equal(await tasks(), 1);

  isBehind = true;
  equal(await tasks(), 0);
  isBehind = false;
  await primary.client.mine({ blocks: DEPTH_BLOCKS });
  equal(await tasks(), 1, "it was denied for a moment only");

  isBehind = true;
  await tasks();
  await primary.client.mine({ blocks: DEPTH_BLOCKS });
  await tasks();
  equal(asked, 7);
  await tasks();
  equal(asked, 7);
});
