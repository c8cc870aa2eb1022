import { equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { fundLocalToken } from "@inference/devnet/third-parties/local-token";
import { seedPool } from "@inference/devnet/third-parties/uniswap";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { eventually } from "@inference/protocol/testing/eventually";
import { maxUint256, pad, parseAbi } from "viem";
import { startKeeper } from "./keeper.ts";
import {
  alice,
  approve,
  balanceOf,
  createAgent,
  deployer,
  shareThreeChains,
  type ThreeChains,
} from "./testing/three-chains.ts";

const UNIT = 10n ** 18n;
const uniswapAbi = parseAbi([
  "function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)",
  "function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }",
  "function exactInputSingle(Swap swap) payable returns (uint256 amountOut)",
]);

let chains: ThreeChains;
before(async () => {
  chains = await shareThreeChains();
});
after(() => chains.revert());

test("trades with an agent's token raise its stake of the next day and its Safe's tokens, by the keeper alone", async () => {
  const site = chains.sites.primary;
  const { client, stakingToken, positionManager, swapRouter } = site;
  const as = { account: alice } as const;
  const { agent, safe } = await createAgent(site);
  const { rpcUrl } = site.chain;
  await fundLocalToken({ rpcUrl, token: stakingToken, issuer: deployer, to: alice.address, amount: 1_100n * UNIT });
  await seedPool({
    ...{ rpcUrl, account: alice, positionManager, feeTier: 3000, observations: 1 },
    amounts: [
      { token: agent, amount: 1_000n * UNIT },
      { token: stakingToken, amount: 1_000n * UNIT },
    ],
  });
  const positions = { address: positionManager, abi: uniswapAbi } as const;
  const id = await client.readContract({
    ...positions,
    functionName: "tokenOfOwnerByIndex",
    args: [alice.address, 0n],
  });
  const lock = [alice.address, site.at("agentFeeLocker"), id, pad(agent)] as const;
  await site.sent(await client.writeContract({ ...positions, ...as, functionName: "safeTransferFrom", args: lock }));

  const keeper = startKeeper(chains.settings(), { now: Date.now, log: () => {} });
  try {
    await approve(site, { token: stakingToken, spender: swapRouter, amount: maxUint256 });
    const swap = {
      ...{ tokenIn: stakingToken, tokenOut: agent, fee: 3000, recipient: alice.address, deadline: maxUint256 },
      ...{ amountIn: 100n * UNIT, amountOutMinimum: 0n, sqrtPriceLimitX96: 0n },
    };
    await site.sent(
      await client.writeContract({
        ...{ address: swapRouter, abi: uniswapAbi, ...as, gas: 1_000_000n },
        ...{ functionName: "exactInputSingle", args: [swap] },
      }),
    );
    const pool = { address: site.at("inferencePool"), abi: inferencePoolAbi } as const;
    const staked = () => client.readContract({ ...pool, functionName: "totalStakeOf", args: [agent] });
    await eventually(async () => (await staked()) > 0n);
    // Of the fee of 0.3 units, four fifths are staked.
    const stake = await staked();
    ok(stake > (239n * UNIT) / 1_000n && stake <= (240n * UNIT) / 1_000n, String(stake));
    await client.increaseTime({ seconds: 86_400 });
    await client.mine({ blocks: 1 });
    const capacity = { ...pool, functionName: "capacityToday", args: [agent] } as const;
    equal(await client.readContract(capacity), stake / 10n ** 9n);
    // The other fifth, 0.06 units, at about 300 dollars.
    await eventually(async () => (await balanceOf(site, site.at("inferenceToken"), safe)) > 17_000_000n);
  } finally {
    await keeper.stop();
  }
});
